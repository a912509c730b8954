use crate::error::check;
use crate::library::Library;
use crate::{sys, DummyConfig, DummyItem, DummyOrder, DummyTraitFlags, Result};

/// A list of items.
#[derive(Debug)]
pub struct Dummy {
    raw: sys::ferrum_dummy,
    _library: Library,
}

impl Drop for Dummy {
    fn drop(&mut self) {
        // SAFETY: the handle is ours.
        unsafe { sys::ferrum_dummy_destroy(self.raw, sys::FERRUM_FORCE) };
    }
}

impl Dummy {
    /// Makes one without items.
    pub fn create(library: &Library, config: &DummyConfig) -> Result<Self> {
        let mut raw = Default::default();
        config.with_raw("ferrum_dummy_create", |config| {
            // SAFETY: config lives through the call, raw is an output of it.
            check(unsafe { sys::ferrum_dummy_create(config, &mut raw) })
        })?;
        Ok(Self {
            raw,
            _library: library.clone(),
        })
    }

    /// The handle.
    pub fn raw(&self) -> sys::ferrum_dummy {
        self.raw
    }

    /// Replaces the traits.
    pub fn set_traits(&self, traits: DummyTraitFlags) -> Result<()> {
        // SAFETY: plain values.
        check(unsafe { sys::ferrum_dummy_set_traits(self.raw, traits.bits()) })
    }

    /// Stops jobs before their next step, or lets them go on.
    pub fn hold(&self, held: bool) -> Result<()> {
        // SAFETY: plain values.
        check(unsafe { sys::ferrum_dummy_hold(self.raw, held.into()) })
    }

    /// Adds items, all or none.
    pub fn add(&self, items: &[DummyItem]) -> Result<()> {
        const NAME: &str = "ferrum_dummy_add";
        let items = items
            .iter()
            .map(|item| item.with_raw(NAME, |raw| Ok(*raw)))
            .collect::<Result<Vec<_>>>()?;
        // SAFETY: the array has as many elements as are told.
        check(unsafe { sys::ferrum_dummy_add(self.raw, items.as_ptr(), items.len() as u64) })
    }

    /// The items in their order.
    pub fn items(&self) -> Result<Vec<DummyItem>> {
        let mut count = 0;
        // SAFETY: with no room it only tells the count.
        check(unsafe {
            sys::ferrum_dummy_get_items(self.raw, std::ptr::null_mut(), 0, &mut count)
        })?;
        let mut found = vec![sys::ferrum_dummy_item::default(); count];
        // SAFETY: the array has the room that is told.
        check(unsafe {
            sys::ferrum_dummy_get_items(self.raw, found.as_mut_ptr(), found.len(), &mut count)
        })?;
        Ok(found[..count].iter().map(DummyItem::from).collect())
    }

    /// The place and the first item of a name.
    pub fn find(&self, name: &str) -> Result<(u64, DummyItem)> {
        let name = crate::library::c_text("ferrum_dummy_find", "name", name)?;
        let (mut index, mut found) = (0, Default::default());
        // SAFETY: the text lives through the call, of which the others are outputs.
        check(unsafe { sys::ferrum_dummy_find(self.raw, name.as_ptr(), &mut index, &mut found) })?;
        Ok((index, (&found).into()))
    }

    /// Adds items that are written as JSON.
    pub fn add_json(&self, items: &str) -> Result<()> {
        // SAFETY: the text has the length that is told.
        check(unsafe { sys::ferrum_dummy_add_json(self.raw, items.as_ptr().cast(), items.len()) })
    }

    /// Begins to sort the items.
    pub fn sort(&self, order: DummyOrder) -> Result<DummyJob> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_dummy_sort(self.raw, order.to_raw(), &mut raw) })?;
        Ok(DummyJob {
            raw,
            _library: self._library.clone(),
        })
    }
}

/// Work on a dummy.
#[derive(Debug)]
pub struct DummyJob {
    raw: sys::ferrum_dummy_job,
    _library: Library,
}

impl Drop for DummyJob {
    fn drop(&mut self) {
        // SAFETY: the handle is ours.
        unsafe { sys::ferrum_dummy_job_destroy(self.raw, sys::FERRUM_FORCE) };
    }
}

impl DummyJob {
    /// The handle.
    pub fn raw(&self) -> sys::ferrum_dummy_job {
        self.raw
    }
}
