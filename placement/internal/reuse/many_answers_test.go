package reuse

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// Statics with more combinations of answers than a table may have ask about each node.
func TestManyAnswers(t *testing.T) {
	f := newField(rand.New(rand.NewPCG(1, 5)))
	var o cluster.Objects
	for k := range 300 {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprint("n", k)).Capacity("pods=9,cpu=4").Label("grade", strconv.Itoa(k%100)).Label("pool", "x").Obj())
	}
	var err error
	f.s, err = cluster.New(o)
	require.NoError(t, err)
	for k := range 3 { // 100 answers each
		f.plugins = append(f.plugins, Plugin{Name: fmt.Sprint("pools ", k), Group: Statics, Filter: -1, Score: k, Weight: 1, AppendKey: func(dst []byte, _ *v1.Pod) []byte { return dst },
			Scorer: func(p *v1.Pod) (Scorer, error) { return readPools{pools{f.kindOf("pools", p)}}, nil }})
	}
	e := New(f.s, f.order, f.plugins)
	for range 3 {
		q := Question{Pod: f.pod()}
		want, _, _ := f.plain(&q)
		got, ok := e.Decide(&q)
		require.True(t, ok)
		require.Equal(t, []any{want.Slot, want.Total, want.Feasible}, []any{got.Slot, got.Total, got.Feasible})
	}
}
