package devices

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// Requests are possible together when each has devices of its own. A request is known by its index, a device too.
func TestPossible(t *testing.T) {
	list := func(shares bool, contents ...int32) (out []candidate) {
		for k, content := range contents {
			out = append(out, candidate{device: &device{index: int32(k), content: content, shares: shares}})
		}
		return out
	}
	own := list(false, 7, 7)
	nothing := func(int, *request, *device) bool { return false }
	all := func(int, *request, *device) bool { return true }
	testkit.Run(t, []struct {
		name, why  string
		requests   []request // one for each index
		candidates [][]candidate
		dead       []bool
		allow      func(int, *request, *device) bool
		want       bool
		wantDead   []bool
	}{
		{"two devices", "devices of one content are two", []request{{count: 2}}, [][]candidate{own, nil, nil}, []bool{false, false, false}, nil, true, []bool{false, false, false}},
		{"two devices that are shared", "so are those that allow several allocations", []request{{count: 2}}, [][]candidate{list(true, 7, 7), nil, nil}, []bool{false, false, false}, nil, true, []bool{false, false, false}},
		{"a dead request", "its devices do not help", []request{{count: 1}}, [][]candidate{own, nil}, []bool{true, false}, nil, false, []bool{true, false}},
		{"another request is dead", "this one has its devices", []request{{count: 1}}, [][]candidate{own, nil}, []bool{false, true}, nil, true, []bool{false, true}},
		{"too few devices", "the request is dead from now on", []request{{count: 3}}, [][]candidate{own, nil, nil, own}, []bool{false, false, false, false}, nil, false, []bool{true, false, false, false}},
		{"too few are allowed", "that is so for this question alone, whatever request is dead", []request{{count: 1}}, [][]candidate{own, nil}, []bool{false, true}, nothing, false, []bool{false, true}},
		{"all are allowed", "as without a condition", []request{{count: 2}}, [][]candidate{own, nil, nil}, []bool{false, false, false}, all, true, []bool{false, false, false}},
		{"one device for two", "a device serves one of them", []request{{count: 1}, {count: 1}}, [][]candidate{own[:1], own[:1]}, []bool{false, false}, nil, false, []bool{false, false}},
		{"one device for two administrators", "they may take what others have", []request{{count: 1, admin: true}, {count: 1, admin: true}}, [][]candidate{own[:1], own[:1]}, []bool{false, false}, nil, true, []bool{false, false}},
	}, func(t *testing.T, c struct {
		name, why  string
		requests   []request
		candidates [][]candidate
		dead       []bool
		allow      func(int, *request, *device) bool
		want       bool
		wantDead   []bool
	}) {
		s := &Search{claims: make([]claimAsk, 1)}
		for id, r := range c.requests {
			r.id = id
			s.claims[0].asks = append(s.claims[0].asks, ask{alternatives: []request{r}})
		}
		o := &outlook{dead: slices.Clone(c.dead)}
		for _, x := range c.candidates {
			o.candidates = append(o.candidates, slices.Clone(x))
		}
		require.Equal(t, c.want, s.possible(o, c.allow), c.why)
		require.Equal(t, c.wantDead, o.dead, c.why)
		require.Equal(t, fmt.Sprint(c.candidates), fmt.Sprint(o.candidates), "a question leaves the candidates as they are")
	})
}

// A node that sees only the counters of a pool changes nothing for the nodes that see its devices: older counters stay listed.
func TestCountersOfTwoGenerations(t *testing.T) {
	published := slotsOf("n1", "1", resourcev1.Device{Name: "d"})
	for _, s := range published {
		s.Spec.Pool.Generation = 2
	}
	older := published[1].DeepCopy()
	older.Name, older.Spec.Pool.Generation = "n1-older", 1
	inventory := NewInventory(append(published, older))
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}}
	a := NewAllocator(NewLedger(inventory), func(string) *resourcev1.DeviceClass { return class }, nil, Options{Release: release.V1_36})
	search := a.Compile(stateOfTwo(1).pending...)
	for _, c := range []struct {
		node string
		want bool
	}{{"n2", false}, {"n1", true}} {
		_, ok, err := search.Allocate(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.node}})
		require.NoError(t, err)
		require.Equal(t, c.want, ok, c.node)
	}
}
