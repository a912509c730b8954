"""The tests add a function, and a family with two kinds, to a copy of the tree."""

from __future__ import annotations

from .copied_tree import ROOT, Edit

# A new function needs these four edits. The generator writes everything else.
FUNCTION = {
    "header": Edit(
        "include/ferrum_mem/pools.h",
        "FERRUM_API ferrum_status ferrum_pool_check(ferrum_pool pool);\n",
        """
/**
 * Gives how many bytes a pool holds at this moment, those of thread caches among them.
 */
FERRUM_API ferrum_status ferrum_pool_get_kept_bytes(ferrum_pool pool,
                                                    uint64_t *kept_bytes_out);
""",
    ),
    "core": Edit(
        "core/pool/retain.go",
        "// SetMinHeld ",
        """\
// KeptBytes is the number of bytes that the pool holds from its device; CodeInvalidState
// once it has ended.
func (p *Pool) KeptBytes() (uint64, error) {
	if p.HasEnded() {
		return 0, device.Errorf(device.CodeInvalidState, "pool.kept_bytes", "the pool has ended")
	}
	return p.HeldBytes(), nil
}

""",
        is_before=True,
    ),
    "test": Edit(
        "bindings/python/tests/test_pools.py",
        "def test_second_free_does_nothing(pool):",
        """\
def test_a_pool_says_what_it_holds(pool):
    with pool.alloc(1000):
        assert 1000 <= pool.kept_bytes() <= 4 * MIB


""",
        is_before=True,
    ),
    "documentation": Edit(
        "CHANGELOG.md",
        "### Library\n\n",
        "- `ferrum_pool_get_kept_bytes`: how many bytes a pool holds.\n",
    ),
}

# The files of a family with two handle kinds. The folder has the structure of the tree.
FAMILY_FILES = ROOT / "tests" / "generator" / "testdata" / "dummy"

# The edits of existing files that the family needs.
FAMILY = (
    Edit(
        "include/ferrum_mem.h",
        '#include "ferrum_mem/tensor.h"\n',
        '#include "ferrum_mem/dummy.h"\n',
    ),
    Edit(
        "include/ferrum_mem.hpp",
        '#include "ferrum_mem/device.hpp"\n',
        '#include "ferrum_mem/dummy.hpp"\n#include "ferrum_mem/dummy_job.hpp"\n',
    ),
    Edit(
        "core/handle/id.go",
        "KVCache         Kind = 23\n",
        "\tDummy Kind = 24\n\tDummyJob Kind = 25\n",
    ),
    Edit(
        "core/handle/id.go",
        '		return "sequence"\n',
        '	case Dummy:\n\t\treturn "dummy"\n\tcase DummyJob:\n\t\treturn "job of a dummy"\n',
    ),
    Edit(
        "core/library/registry.go",
        "	genericPools     *handle.Table[*GenericPool]\n",
        "	dummies *handle.Table[*Dummy]\n	dummyJobs *handle.Table[*DummyJob]\n",
    ),
    Edit(
        "core/library/registry.go",
        "g.genericPools = handle.New[*GenericPool](handle.GenericPool)\n",
        "	g.dummies = handle.New[*Dummy](handle.Dummy)\n"
        "	g.dummyJobs = handle.New[*DummyJob](handle.DummyJob)\n",
    ),
    Edit(
        "core/library/registry.go",
        "table: g.genericPools},\n",
        "		&shelf[*Dummy]{kind: handle.Dummy, table: g.dummies, is: calls},\n"
        "		&shelf[*DummyJob]{kind: handle.DummyJob, table: g.dummyJobs},\n",
    ),
    Edit(
        "bindings/rust/ferrum-mem/src/lib.rs",
        "mod discovery;\n",
        "mod dummy;\nmod release;\nmod texts;\n",
    ),
    Edit(
        "bindings/rust/ferrum-mem/src/lib.rs",
        "pub use device::Device;\n",
        "pub use dummy::{Dummy, DummyJob};\n"
        "pub use generated::enums::{DummyOrder, DummyTraitFlags};\n"
        "pub use generated::records::{\n"
        "    DummyConfig, DummyExtent, DummyInfo, DummyItem, DummyJobProgress, DummyJobResult,\n"
        "};\n",
    ),
    Edit(
        "bindings/rust/ferrum-mem/src/raw.rs",
        "/// The flag if `on`, otherwise 0.\n",
        """\
/// A text for a field of so many bytes, its NUL among them; one that is longer, or has a
/// NUL inside, is an error that names the argument.
pub(crate) fn fixed_text<const N: usize>(
    function: &str,
    argument: &str,
    text: &str,
) -> Result<[c_char; N]> {
    let text = c_text(function, argument, text)?;
    let bytes = text.as_bytes_with_nul();
    let mut field = [0; N];
    if bytes.len() > N {
        let message = format!("{argument} is longer than {} bytes", N - 1);
        return Err(crate::Error::argument(function, message));
    }
    for (to, from) in field.iter_mut().zip(bytes) {
        *to = *from as c_char;
    }
    Ok(field)
}

""",
        is_before=True,
    ),
    Edit(
        "bindings/rust/Cargo.toml",
        'members = ["ferrum-mem-sys", "ferrum-mem", "ferrum-mem-interfaces"',
        ', "calls"',
    ),
)
