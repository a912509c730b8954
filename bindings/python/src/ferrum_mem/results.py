"""Types of results that are read as JSON: dictionaries with known keys.

They are plain dictionaries at run time, so that every tool accepts them, and type checkers
know their keys. The header describes each field at ``ferrum_snapshot_json`` and the other
JSON functions, and at the struct that a part is named after. Later versions may add keys.
"""

from __future__ import annotations

from typing import Any, TypedDict

__all__ = [
    "BuildReport",
    "BuildTimeEstimate",
    "BuilderInfo",
    "ComputeBackends",
    "ComputeCapabilities",
    "ComputeFinding",
    "ComputeStatus",
    "Estimate",
    "ExecutorInfo",
    "LoadedTensors",
    "ModelBooks",
    "MonitorInfo",
    "PlacementExplanation",
    "Snapshot",
    "Validation",
    "WeightsCapabilities",
    "WeightsMetadata",
]


class GaugeBooks(TypedDict):
    """A number and its peak."""

    current: int
    peak: int


class StatisticsBooks(TypedDict):
    """The fields of Statistics, and the reserved address space."""

    requested: GaugeBooks
    allocated: GaugeBooks
    active: GaugeBooks
    cached: GaugeBooks
    unusable: GaugeBooks
    reserved: GaugeBooks
    virtual_reserved: GaugeBooks
    live_blocks: GaugeBooks
    segments: GaugeBooks
    allocations: int
    frees: int
    failures: int
    largest_free_bytes: int
    thread_cached_bytes: int


class MemoryBooks(TypedDict):
    """The fields of MemoryInfo. The pressure is a name."""

    pressure: str
    total_bytes: int
    used_bytes: int
    free_bytes: int
    reserved_bytes: int
    active_allocations: int
    largest_free_bytes: int
    limit_bytes: int
    device_total_bytes: int
    device_free_bytes: int
    fragmentation_ratio: float
    utilization_percent: float
    bandwidth_known: bool
    bandwidth_gbps: float | None
    reading_age_ns: int


class TagBooks(TypedDict):
    """Live memory with a tag. blocks is a number."""

    tag: str
    requested_bytes: int
    allocated_bytes: int
    blocks: int


class SegmentBooks(TypedDict):
    """A segment of a pool. mapped_bytes is the part of it with physical memory."""

    address: int
    size_bytes: int
    active_bytes: int
    largest_free_bytes: int
    mapped_bytes: int


class PoolPages(TypedDict):
    """The fields of PoolInfo."""

    held_bytes: int
    page_bytes: int
    mapped_pages: int
    idle_pages: int
    ready_pages: int
    segments: int
    address_bytes: int


class PoolBooks(TypedDict):
    """A pool. Its owner is "pool", "manager", "fallback_manager", or "graph"."""

    name: str
    strategy: str
    owner: str
    statistics: StatisticsBooks
    info: PoolPages
    segments: list[SegmentBooks]
    high_water_bytes: int


class AdoptedBooks(TypedDict):
    """Live external memory, which no statistics include. blocks is a number."""

    blocks: int
    bytes: int


class ManagerBooks(TypedDict):
    """A manager. memory_types has the number of live blocks for each type of memory."""

    live_blocks: int
    memory_types: dict[str, int]
    statistics: StatisticsBooks
    adopted: AdoptedBooks


class SpaceBooks(TypedDict):
    """The common fields of VirtualPoolInfo and ModelInfo."""

    base_address: int
    virtual_capacity_bytes: int
    page_bytes: int
    physical_bytes: int
    peak_physical_bytes: int
    requested_bytes: int
    mapped_pages: int
    retiring_pages: int
    parked_pages: int
    ready_pages: int
    held_bytes: int
    limit_bytes: int
    available_bytes: int
    table_bytes: int
    allocations: int
    moved_pages: int
    fragmentation: float
    unmapped_share: float
    largest_free_run_bytes: int
    asleep_pages: int
    asleep_bytes: int
    asleep_host_bytes: int
    asleep_file_bytes: int
    asleep_discarded_bytes: int
    sleeps: int
    wakes: int
    sleep_ns: int
    wake_ns: int
    sleep_failures: int
    wake_failures: int


class VirtualPoolBooks(TypedDict):
    """A virtual pool. info has the fields of VirtualPoolInfo."""

    name: str
    statistics: StatisticsBooks
    info: SpaceBooks


class ModelBooks(SpaceBooks):
    """A model of an elastic pool: its id and the fields of ModelInfo."""

    id: str
    guaranteed_bytes: int
    requested_guarantee_bytes: int
    max_bytes: int
    priority: int
    cached_bytes: int
    frees: int
    failures: int
    waits: int
    waited_ns: int
    reclaim_calls: int
    reclaimed_bytes: int


class ElasticPages(TypedDict):
    """The fields of ElasticPoolInfo."""

    page_bytes: int
    physical_limit_bytes: int
    physical_bytes: int
    peak_physical_bytes: int
    pending_bytes: int
    virtual_bytes: int
    guaranteed_bytes: int
    retiring_bytes: int
    cached_bytes: int
    held_bytes: int
    waiting: int
    num_models: int


class ElasticPoolBooks(TypedDict):
    """An elastic pool with its models."""

    name: str
    statistics: StatisticsBooks
    info: ElasticPages
    models: list[ModelBooks]


class FallbackBooks(TypedDict):
    """A fallback manager: the fields of FallbackStats and the counters of MemoryStats."""

    total_allocated_bytes: int
    in_use_bytes: int
    pooled_bytes: int
    peak_bytes: int
    pool_hits: int
    pool_misses: int
    cpu_fallbacks: int
    active_buffers: int
    cpu_bytes: int
    cpu_buffers: int
    moved_to_cpu: int
    moved_to_gpu: int


class AsleepBooks(TypedDict):
    """Stored contents of the ranges that are asleep on a device."""

    asleep_host_bytes: int
    asleep_file_bytes: int
    asleep_discarded_bytes: int


class DeviceBooks(TypedDict):
    """A device and all its objects."""

    id: str
    memory: MemoryBooks
    statistics: StatisticsBooks
    tags: list[TagBooks]
    pools: list[PoolBooks]
    managers: list[ManagerBooks]
    virtual_pools: list[VirtualPoolBooks]
    elastic_pools: list[ElasticPoolBooks]
    fallback_managers: list[FallbackBooks]
    asleep: AsleepBooks


class SignalHandler(TypedDict):
    """A signal handler without SA_ONSTACK. repaired: the library added the flag. late: the
    handler was installed after init().
    """

    signal: int
    name: str
    address: int
    symbol: str
    file: str
    repaired: bool
    late: bool


class Snapshot(TypedDict):
    """All counters of the library; the result of snapshot()."""

    version: str
    uptime_ns: int
    devices: list[DeviceBooks]
    signal_handlers: list[SignalHandler]


class Failure(TypedDict):
    """Why a value is unknown: the name of a status, and a message."""

    status: str
    message: str


class Stall(TypedDict):
    """Share of time in which tasks waited for memory, in hundredths of a percent."""

    avg10_hundredths: int
    avg60_hundredths: int
    avg300_hundredths: int
    total_ns: int


class StallInfo(TypedDict):
    """Stalls of some tasks and of all tasks. None, with the reason, if unknown."""

    some: Stall | None
    full: Stall | None
    reason: Failure | None


class EventsInfo(TypedDict):
    """Events of the control group by name. None, with the reason, if unknown."""

    counts: dict[str, int] | None
    reason: Failure | None


class HighInfo(TypedDict):
    """The soft limit of the control group. bytes is None if there is no limit, or if it is
    unknown; then there is a reason.
    """

    bytes: int | None
    reason: Failure | None


class SystemInfo(TypedDict):
    """The system's own pressure values, of the machine and of the control group."""

    machine: StallInfo
    group: StallInfo
    events: EventsInfo
    high: HighInfo


class WatchedDevice(TypedDict):
    """A device of a monitor. memory is None until it has been read. error is None if the last
    query of the device succeeded. system is None for a device without one.
    """

    id: str
    managers: int
    level: str
    level_by_bytes: str
    level_by_system: str
    memory: MemoryBooks | None
    error: Failure | None
    system: SystemInfo | None


class WatchedPressure(TypedDict):
    """The fields of MonitorPressure. unknown is the number of devices of unknown capacity."""

    level: str
    weighted_level: str
    devices: int
    unknown: int
    total_bytes: int
    used_bytes: int


class MonitorInfo(TypedDict):
    """The state of a monitor; the result of Monitor.info()."""

    profile: str
    pressure: WatchedPressure
    devices: list[WatchedDevice]


class PlacementCandidate(TypedDict):
    """A device, and why it is chosen or not. The score is None if it has none."""

    id: str
    chosen: bool
    reason: str
    score: float | None
    tier: int
    preferred_rank: int
    needed_bytes: int
    total_bytes: int
    used_bytes: int
    free_bytes: int
    largest_free_bytes: int
    level_after: str


class _StoredTensor(TypedDict, total=False):
    """Present only if it is true."""

    is_compressed: bool


class StoredTensor(_StoredTensor):
    """Where and how a file stores a tensor. file is an index of the files of the source."""

    dtype: str
    stored_as: str
    file: int
    offset_bytes: int
    size_bytes: int
    elements: int


class WeightsExtra(TypedDict):
    """What WeightsMetadata has besides: tensors by their names, files, and texts of the files."""

    tensors: dict[str, StoredTensor]
    files: list[str]
    texts: dict[str, str]


class WeightsMetadata(TypedDict):
    """A source of tensors; the result of Weights.metadata(). tensors has the shapes."""

    format: str
    total_size_bytes: int
    dtypes: list[str]
    tensors: dict[str, list[int]]
    extra: WeightsExtra


class WeightsCapabilities(TypedDict):
    """What can be loaded; the result of Weights.capabilities()."""

    supported_formats: list[str]
    supported_sources: list[str]
    max_tensor_size: int
    supports_streaming: bool
    supports_concurrent: bool
    supported_transformations: list[str]


class LoadedTensor(TypedDict):
    """A tensor in memory. tied_to is an earlier tensor of the set with the same memory."""

    name: str
    dtype: str
    shape: list[int]
    device: str
    address: int
    size_bytes: int
    tied_to: str | None


class LoadedTensors(TypedDict):
    """The tensors of a set in their order; the result of TensorSet.tensors()."""

    tensors: list[LoadedTensor]


class ComputeCapabilities(TypedDict):
    """The properties of a backend; the result of Compute.capabilities()."""

    supported_dtypes: list[str]
    supported_devices: list[str]
    max_tensor_dims: int
    supports_fp16: bool
    supports_bf16: bool
    supports_int8: bool
    supports_flash_attention: bool
    supports_paged_attention: bool
    supports_tensor_parallelism: bool
    supports_pipeline_parallelism: bool
    max_batch_size: int
    max_sequence_length: int
    memory_alignment: int
    supports_custom_kernels: bool
    supports_cuda_graphs: bool
    extra_capabilities: dict[str, object]


class ComputeStatus(TypedDict):
    """The state of a backend; the result of Compute.status(). memory_usage has bytes by device."""

    is_initialized: bool
    is_ready: bool
    active_devices: list[str]
    memory_usage: dict[str, int]
    operations_completed: int
    last_error: str | None
    backend_specific: dict[str, object]


class _ComputeBackend(TypedDict):
    name: str
    backend_type: str
    available: bool


class ComputeBackend(_ComputeBackend, total=False):
    """A backend. reason is there if it is not available, and otherwise version and
    capabilities. environment has the variables that its engine reads; None: it is not set.
    """

    reason: str
    version: str
    capabilities: ComputeCapabilities
    environment: dict[str, str | None]


class ComputeBackends(TypedDict):
    """All backends; the result of compute_backends()."""

    backends: list[ComputeBackend]


class ComputeCandidate(TypedDict):
    """A backend that find_compute() has compared. reasons state what it lacks."""

    name: str
    backend_type: str
    meets: bool
    reasons: list[str]


class ComputeFinding(TypedDict):
    """The choice of a backend; the result of find_compute(). The best candidate is the first."""

    best: str
    candidates: list[ComputeCandidate]


class _ModelIssue(TypedDict):
    severity: str
    category: str
    description: str
    config_path: str


class ModelIssue(_ModelIssue, total=False):
    """What is wrong with a model. The severity is "warning", "error" or "critical"."""

    suggested_fix: str


class Validation(TypedDict):
    """The result of models.validate() and models.validate_definition()."""

    issues: list[ModelIssue]
    stops_build: bool


class BuildArchitecture(TypedDict):
    """An architecture that the library builds."""

    name: str
    family: str
    variants: list[str]
    required_features: list[str]


class BuilderCapabilities(TypedDict):
    """What builds can do. max_model_size is None without a bound."""

    max_model_size: int | None
    supports_dynamic_shapes: bool
    supports_custom_ops: bool
    supports_mixed_precision: bool
    supports_model_parallelism: bool
    supports_parallel_build: bool
    supports_incremental_build: bool


class _PassDescription(TypedDict):
    name: str
    level: int
    dependencies: list[str]
    is_registered: bool


class PassDescription(_PassDescription, total=False):
    """A pass. It runs from level on; 0: only by its name. The program has registered it, or it has
    a technique.
    """

    technique: str


class BuildEngine(TypedDict):
    """A compute backend for which the library builds. One that runs graphs makes a session."""

    name: str
    runs_graphs: bool
    is_registered: bool


class BuilderInfo(TypedDict):
    """What the library builds; the result of models.builder_info()."""

    name: str
    version: str
    supported_architectures: list[BuildArchitecture]
    supported_weight_formats: list[str]
    supported_optimizations: list[str]
    passes: list[PassDescription]
    capabilities: BuilderCapabilities
    engines: list[BuildEngine]


class LayerType(TypedDict):
    """A layer type of the program."""

    layer_type: str
    name: str
    input_shape: list[int] | None
    output_count: int
    config: dict[str, Any]
    uses: int


class LayerTypes(TypedDict):
    """The layer types of the program; the result of models.layers()."""

    layers: list[LayerType]


class BuildTimeBreakdown(TypedDict):
    """The time of the parts of a build."""

    weight_loading_seconds: float
    model_init_seconds: float
    optimization_seconds: float
    validation_seconds: float
    overhead_seconds: float


class BuildTimeFactor(TypedDict):
    """Something that changes the time of a build. The time is multiplied by impact."""

    factor: str
    impact: float
    description: str


class BuildTimeEstimate(TypedDict):
    """How long a build takes; the result of models.estimate_build_time()."""

    min_time_seconds: float
    max_time_seconds: float
    expected_time_seconds: float
    time_breakdown: BuildTimeBreakdown
    factors: list[BuildTimeFactor]


class PassStats(TypedDict):
    """What a pass did to a model. memory_saved is in bytes."""

    parameters_eliminated: int
    operations_eliminated: int
    memory_saved: int
    estimated_speedup: float


class _PassResult(TypedDict):
    applied: bool
    stats: PassStats
    warnings: list[str]


class PassTimes(TypedDict):
    """The median times of a run before and after a pass, in nanoseconds, of that many runs."""

    before_ns: int
    after_ns: int
    runs: int


class PassResult(_PassResult, total=False):
    """The result of a pass, for these lengths of the dimensions. times is there if a build has
    measured them; otherwise estimated_speedup is 1.
    """

    lengths: dict[str, int]
    times: PassTimes


# "pass" is a word of the language.
NamedPassResult = TypedDict("NamedPassResult", {"pass": str})


class PassReport(NamedPassResult, PassResult):
    """The result of a pass with its name, the key "pass"."""


class Optimized(TypedDict):
    """A definition after passes; the result of models.optimize()."""

    definition: dict[str, Any]
    passes: list[PassReport]
    total: PassStats


class _BuildReport(TypedDict):
    issues: list[ModelIssue]
    passes: list[PassReport]
    took: BuildTimeBreakdown
    estimate: BuildTimeEstimate


class BuildReport(_BuildReport, total=False):
    """What a build did; the result of Executor.report(). session_seconds is there for a model that
    ONNX Runtime runs.
    """

    session_seconds: float


class ExecutorCounters(TypedDict):
    """The counters of an executor. run_ns is the time of all runs."""

    runs: int
    failures: int
    plans: int
    evictions: int
    run_ns: int


class _ExecutorInput(TypedDict):
    name: str
    dtype: str
    shape: list[int]
    dims: list[str]


class ExecutorInput(_ExecutorInput, total=False):
    """An input of a model. A dynamic dimension has the length -1, and a name in dims. default is
    there if the input may be missing.
    """

    default: str


class _ExecutorInfo(TypedDict, total=False):
    description: str


class ExecutorInfo(_ExecutorInfo):
    """The state of a built model; the result of Executor.info(). docs/models.md documents it."""

    id: str
    name: str
    model_type: str
    architecture_family: str
    device: str
    backend: str
    state: str
    parameters: int
    parameter_bytes: int
    packed_bytes: int
    arena_bytes: int
    held_bytes: int
    saved_bytes: int
    dimensions: dict[str, int]
    inputs: list[ExecutorInput]
    outputs: list[str]
    shapes: int
    max_shapes: int
    counters: ExecutorCounters


class PlacementExplanation(TypedDict):
    """The choice of a strategy; the result of Placement.explain(). chosen is None if no device
    can serve the request.
    """

    strategy: str
    chosen: str | None
    devices: list[PlacementCandidate]


class _Fit(TypedDict, total=False):
    """Present only if free_bytes was passed. max_context and max_batch are None if nothing
    limits them.
    """

    fits: bool
    free_bytes: int
    left_bytes: int
    missing_bytes: int
    max_context: int | None
    max_context_beyond_model: bool
    max_context_limited_by: str
    max_batch: int | None
    max_batch_limited_by: str


class Estimate(_Fit):
    """The memory of a served model; the result of estimate_file() and estimate_config(). The
    page docs/estimate.md describes it.
    """

    model: str
    model_type: str | None
    source: str
    parameters: int
    weights_bytes: int
    buffer_bytes: int
    kv_cache_bytes: int
    kv_cache_lower_bytes: int
    kv_cache_full_bytes: int
    state_bytes: int
    activation_bytes: int
    overhead_bytes: int
    total_bytes: int
    context: int
    batch: int
    tensor_parallel: int
    prefill_tokens: int
    weight_dtype: str
    kv_dtype: str
    overhead_permille: int
    block_tokens: int
    model_context: int | None
    trained_context: int | None
    beyond_model_context: bool
    notes: list[str]
