package vmm

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/extent"
)

// tenants is two spaces on one Physical of three pages.
type tenants struct {
	dev    *devicetest.Device
	engine *engine.Engine
	stock  *Physical
	spaces [2]*space
}

func newTenants(t *testing.T, unscrubbed [2]bool, backing device.Backing) *tenants {
	dev := devicetest.Open(devicetest.Config{TotalBytes: 64 * mib, Backed: true})
	e := engine.New(dev, engine.Options{})
	stock, err := newPhysical("test", e, PhysicalConfig{PageBytes: page, LimitBytes: 3 * page, ReadyPages: -1, Backing: backing}, false)
	require.NoError(t, err)
	two := &tenants{dev: dev, engine: e, stock: stock}
	for i := range two.spaces {
		two.spaces[i] = two.open(t, unscrubbed[i])
	}
	return two
}

func (two *tenants) open(t *testing.T, unscrubbed bool) *space {
	s, err := newSpace(two.stock, spaceConfig{kind: "test", name: "tenant", capacityBytes: 8 * page, unscrubbed: unscrubbed})
	require.NoError(t, err)
	return s
}

func allocateAt(s *space, at extent.Span) (extent.Span, error) {
	p := placing{op: "allocate", targets: only(at)}
	if err := p.prepare(&s.table.extent); err != nil {
		return extent.Span{}, err
	}
	return s.allocate(p)
}

// fill makes a space write to all three pages and free them. With settled they are then
// idle and not parked.
func (two *tenants) fill(t *testing.T, s *space, settled bool) {
	_, err := allocateAt(s, extent.Span{Offset: 0, Size: 3 * page})
	require.NoError(t, err)
	require.NoError(t, two.dev.FillNow(s.table.extent.Base, 0xAA, 3*page))
	require.NoError(t, s.deallocate("deallocate", only(extent.Span{Offset: 0, Size: 3 * page}), nil))
	if settled {
		_, err = s.unpark(3)
		require.NoError(t, err)
	}
	require.NoError(t, two.stock.audit(two.dev))
}

func (two *tenants) look(t *testing.T, s *space) []byte {
	_, err := allocateAt(s, extent.Span{Offset: 4 * page, Size: 3 * page})
	require.NoError(t, err)
	seen := two.dev.Bytes(s.table.extent.Base+device.Addr(4*page), 3*page)
	require.Len(t, seen, int(3*page))
	return seen
}

func (two *tenants) quit(t *testing.T) {
	require.NoError(t, two.stock.audit(two.dev))
	for _, s := range two.stock.spacesFrom(nil) {
		require.NoError(t, s.close("close", true))
	}
	require.NoError(t, two.stock.Close())
	require.Zero(t, two.dev.HeldBytes())
	require.NoError(t, two.engine.Close())
}

// No owner reads what the other wrote, unless both are unscrubbed.
func TestTenantsDoNotReadEachOther(t *testing.T) {
	zeros := make([]byte, 3*page)
	for _, settled := range []bool{false, true} {
		for _, backing := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
			for _, unscrubbed := range [][2]bool{{false, false}, {true, false}, {false, true}} {
				two := newTenants(t, unscrubbed, backing)
				two.fill(t, two.spaces[0], settled)
				require.True(t, bytes.Equal(zeros, two.look(t, two.spaces[1])), "settled %v %v", settled, unscrubbed)
				require.Equal(t, backing == device.BackingMovable, two.dev.Calls(devicetest.Zero) > 0)
				two.quit(t)
			}
		}
		two := newTenants(t, [2]bool{true, true}, device.BackingMovable)
		two.fill(t, two.spaces[0], settled)
		require.Equal(t, byte(0xAA), two.look(t, two.spaces[1])[page])
		require.Zero(t, two.dev.Calls(devicetest.Zero), "both opted out")
		two.quit(t)
	}
}

// Pages that return to their last owner are not zeroed.
func TestOwnPagesAreNotScrubbed(t *testing.T) {
	two := newTenants(t, [2]bool{}, device.BackingMovable)
	two.fill(t, two.spaces[0], true)
	require.Equal(t, byte(0xAA), two.look(t, two.spaces[0])[page])
	require.Zero(t, two.dev.Calls(devicetest.Zero))
	two.quit(t)
}

// A new space with the name of a removed owner is another owner.
func TestPagesOfAnOwnerThatIsGone(t *testing.T) {
	two := newTenants(t, [2]bool{}, device.BackingMovable)
	two.fill(t, two.spaces[0], true)
	require.NoError(t, two.spaces[0].close("close", false))
	again := two.open(t, false)
	require.True(t, bytes.Equal(make([]byte, 3*page), two.look(t, again)))
	two.quit(t)
}

// Pages whose zeroing failed are given to no owner.
func TestPagesThatCouldNotBeScrubbedReachNobody(t *testing.T) {
	two := newTenants(t, [2]bool{}, device.BackingMovable)
	two.fill(t, two.spaces[0], false)
	two.dev.FailNth(devicetest.Zero, 1, nil)
	_, err := allocateAt(two.spaces[1], extent.Span{Offset: 0, Size: 2 * page})
	require.ErrorIs(t, err, device.CodeDevice)
	require.NoError(t, two.stock.audit(two.dev))
	require.True(t, bytes.Equal(make([]byte, 3*page), two.look(t, two.spaces[1])))
	two.quit(t)
}

func TestPhysicalWithSpacesIsBusy(t *testing.T) {
	two := newTenants(t, [2]bool{}, device.BackingMovable)
	require.ErrorIs(t, two.stock.Close(), device.CodeBusy)
	two.quit(t)
	require.ErrorIs(t, two.stock.Close(), device.CodeInvalidState)
}
