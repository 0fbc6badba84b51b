package volumes

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A ledger and its clone, and terms and what is made of them, write behind no list of each other.
func TestListsAreNotShared(t *testing.T) {
	with := func() *assumedObject { return &assumedObject{pods: append(make([]types.UID, 0, 2), "a")} }
	l := NewLedger(Objects{})
	l.volumes["v"], l.claims["c"] = with(), with()
	c := l.Clone(Objects{})
	for _, h := range []*assumedObject{c.volumes["v"], c.claims["c"]} {
		h.pods = append(h.pods, "b")
	}
	for _, h := range []*assumedObject{l.volumes["v"], l.claims["c"]} {
		require.Empty(t, h.pods[:2][1])
	}
	terms := []v1.NodeSelectorTerm{{MatchExpressions: append(make([]v1.NodeSelectorRequirement, 0, 2), v1.NodeSelectorRequirement{Key: "a"})}}
	require.Len(t, added(terms, v1.NodeSelectorRequirement{Key: "b"})[0].MatchExpressions, 2)
	require.Empty(t, terms[0].MatchExpressions[:2][1].Key)
}
