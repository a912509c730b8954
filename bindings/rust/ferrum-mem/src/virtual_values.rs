use crate::sys;

/// What the memory behind pages can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Backing {
    /// It can be mapped elsewhere.
    #[default]
    Movable,
    /// Its bytes are lost when a page leaves its place.
    Private,
    /// Movable, and other processes can be given it, too.
    Shareable,
}

impl Backing {
    pub(crate) fn to_raw(self) -> sys::ferrum_backing {
        match self {
            Self::Movable => sys::FERRUM_BACKING_MOVABLE,
            Self::Private => sys::FERRUM_BACKING_PRIVATE,
            Self::Shareable => sys::FERRUM_BACKING_SHAREABLE,
        }
    }
}

/// A record that is read from the C struct of the same fields.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident from $raw:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl From<&sys::$raw> for $name {
            fn from(raw: &sys::$raw) -> Self {
                Self { $($field: raw.$field,)* }
            }
        }
    };
}

record! {
    /// Page sizes of a device.
    PageSizes from ferrum_page_sizes {
        /// The smallest page of a virtual pool.
        minimum_bytes: u64,
        /// The page size that works best.
        recommended_bytes: u64,
    }
}

record! {
    /// How a pool has its memory, at one moment. Pages are counts.
    PoolInfo from ferrum_pool_info {
        /// Had from the device.
        held_bytes: u64,
        /// Size of its pages; 0: it takes segments whole, and the counts of pages
        /// are 0 too.
        page_bytes: u64,
        /// Pages that are mapped.
        mapped_pages: u64,
        /// Mapped pages that no block touches.
        idle_pages: u64,
        /// How many idle pages stay, with as many in use as now.
        ready_pages: u64,
        /// Segments, or ranges of addresses that pages are mapped in.
        segments: u64,
        /// Their addresses.
        address_bytes: u64,
    }
}

record! {
    /// A virtual pool at one moment. Pages are counts.
    VirtualPoolInfo from ferrum_vpool_info {
        /// Where the address space starts.
        base_address: u64,
        /// The size of a page.
        page_bytes: u64,
        /// The address space, in whole pages.
        virtual_capacity_bytes: u64,
        /// Memory behind mapped and retiring pages.
        physical_bytes: u64,
        /// The most that it was.
        peak_physical_bytes: u64,
        /// What the mapped pages were asked for with.
        requested_bytes: u64,
        /// Pages that ranges have.
        mapped_pages: u64,
        /// Freed, and queued work may still use them.
        retiring_pages: u64,
        /// Freed, but still mapped where they were.
        parked_pages: u64,
        /// Mapped nowhere, ready for any range.
        ready_pages: u64,
        /// Had from the device.
        held_bytes: u64,
        /// The present limit.
        limit_bytes: u64,
        /// What the limit still allows to be mapped.
        available_bytes: u64,
        /// Longest run of free address space.
        largest_free_run_bytes: u64,
        /// Successful allocations so far.
        allocations: u64,
        /// Address space of the pool's tables.
        table_bytes: u64,
        /// 1 - mapped pages / all pages.
        unmapped_share: f32,
        /// 1 - longest free run / free address space.
        fragmentation: f32,
        /// Pages of ranges that sleep.
        asleep_pages: u64,
        /// Their bytes.
        asleep_bytes: u64,
        /// Host memory that holds bytes of what sleeps.
        asleep_host_bytes: u64,
        /// Disk space that does.
        asleep_file_bytes: u64,
        /// Of ranges of which nothing is kept.
        asleep_discarded_bytes: u64,
        /// Calls so far that put to sleep.
        sleeps: u64,
        /// Calls so far that woke.
        wakes: u64,
        /// How long the former took in all.
        sleep_ns: u64,
        /// How long the latter took in all.
        wake_ns: u64,
        /// Calls so far that did not put to sleep.
        sleep_failures: u64,
        /// Calls so far that did not wake.
        wake_failures: u64,
    }
}

record! {
    /// A model at one moment. Pages are counts.
    ModelInfo from ferrum_model_info {
        /// Where its address space starts.
        base_address: u64,
        /// The size of a page.
        page_bytes: u64,
        /// Its address space, in whole pages.
        virtual_capacity_bytes: u64,
        /// Memory behind mapped and retiring pages.
        physical_bytes: u64,
        /// The most that it was.
        peak_physical_bytes: u64,
        /// What the mapped pages were asked for with.
        requested_bytes: u64,
        /// Pages that ranges have.
        mapped_pages: u64,
        /// Freed, and queued work may still use them.
        retiring_pages: u64,
        /// Freed, but still mapped where they were.
        parked_pages: u64,
        /// Memory that the model had last and nobody uses now.
        cached_bytes: u64,
        /// What is kept of the pool's limit for the model.
        guaranteed_bytes: u64,
        /// What it may have at most; 0: no bound of its own.
        max_bytes: u64,
        /// Its priority.
        priority: i32,
        /// What it may still have at once, without anybody giving.
        available_bytes: u64,
        /// Longest run of free address space.
        largest_free_run_bytes: u64,
        /// Successful allocations so far.
        allocations: u64,
        /// Frees so far.
        frees: u64,
        /// Allocations so far that found no memory.
        failures: u64,
        /// Allocations so far that stood in line.
        waits: u64,
        /// How long in all, in nanoseconds.
        waited_ns: u64,
        /// Calls so far of its reclaim callbacks.
        reclaim_calls: u64,
        /// What they said to have freed.
        reclaimed_bytes: u64,
        /// Address space of its tables.
        table_bytes: u64,
        /// 1 - mapped pages / all pages of its address space.
        unmapped_share: f32,
        /// 1 - longest free run / free address space.
        fragmentation: f32,
        /// Pages of ranges that sleep.
        asleep_pages: u64,
        /// Their bytes.
        asleep_bytes: u64,
        /// Host memory that holds bytes of what sleeps.
        asleep_host_bytes: u64,
        /// Disk space that does.
        asleep_file_bytes: u64,
        /// Of ranges of which nothing is kept.
        asleep_discarded_bytes: u64,
        /// Calls so far that put to sleep.
        sleeps: u64,
        /// Calls so far that woke.
        wakes: u64,
        /// How long the former took in all.
        sleep_ns: u64,
        /// How long the latter took in all.
        wake_ns: u64,
        /// Calls so far that did not put to sleep.
        sleep_failures: u64,
        /// Calls so far that did not wake.
        wake_failures: u64,
        /// The guarantee that it asked for: what is above `guaranteed_bytes` waits.
        requested_guarantee_bytes: u64,
    }
}

record! {
    /// An elastic pool at one moment.
    ElasticPoolInfo from ferrum_elastic_pool_info {
        /// The size of a page.
        page_bytes: u64,
        /// The limit of all models together.
        physical_limit_bytes: u64,
        /// Used by the models.
        physical_bytes: u64,
        /// The most that it was.
        peak_physical_bytes: u64,
        /// How many models are registered.
        num_models: u64,
        /// Address space of all models together.
        virtual_bytes: u64,
        /// Guarantees of all models together.
        guaranteed_bytes: u64,
        /// Freed, and queued work may still use it.
        retiring_bytes: u64,
        /// Had from the device, and nobody uses it.
        cached_bytes: u64,
        /// Had from the device.
        held_bytes: u64,
        /// Allocations that stand in line now.
        waiting: u64,
    }
}

record! {
    /// What a compaction did.
    CompactReport from ferrum_compact_report {
        /// Pages that were retiring, and whose work was done.
        landed_pages: u64,
        /// Pages that were parked, and are ready for any range now.
        unmapped_pages: u64,
        /// What went back to the device.
        released_bytes: u64,
        /// Runs of pages among those that no range uses, before.
        runs_before: u64,
        /// The same, after.
        runs_after: u64,
    }
}
