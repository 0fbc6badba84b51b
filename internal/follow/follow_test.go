package follow

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cluster"
)

// numbered is a log whose event number v has the node v, and which has forgotten the events up to a version.
type numbered struct{ version, forgotten uint64 }

func (l numbered) Version() uint64 { return l.version }

func (l numbered) Since(version uint64, yield func([]cluster.Event)) bool {
	for v := max(version, l.forgotten) + 1; v <= l.version; v += 2 {
		block := []cluster.Event{{Node: int32(v)}}
		if v < l.version {
			block = append(block, cluster.Event{Node: int32(v + 1)})
		}
		yield(block)
	}
	return version >= l.forgotten
}

// A cursor gives each event once, in order, and says when events are missing.
func TestCursor(t *testing.T) {
	var c Cursor
	follow := func(log numbered) (nodes []int32, reached bool) {
		reached = c.Read(log, func(e *cluster.Event) { nodes = append(nodes, e.Node) })
		require.Equal(t, log.version, c.Version)
		return nodes, reached
	}
	for _, x := range []struct {
		log     numbered
		nodes   []int32
		reached bool
	}{
		{numbered{version: 0}, nil, true},
		{numbered{version: 3}, []int32{1, 2, 3}, true},
		{numbered{version: 3}, nil, true},
		{numbered{version: 5, forgotten: 3}, []int32{4, 5}, true},
		{numbered{version: 9, forgotten: 7}, []int32{8, 9}, false},
		{numbered{version: 9, forgotten: 9}, nil, true},
	} {
		nodes, reached := follow(x.log)
		require.Equal(t, x.nodes, nodes)
		require.Equal(t, x.reached, reached)
	}
	c = At(numbered{version: 20})
	nodes, reached := follow(numbered{version: 21, forgotten: 20})
	require.Equal(t, []int32{21}, nodes)
	require.True(t, reached)
}
