package feed

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/podberth/podberth/internal/testkit"
)

func version(uid types.UID, resourceVersion string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: uid, ResourceVersion: resourceVersion}}
}

// What an informer says becomes a sequence without gaps and without repetitions.
func TestObjects(t *testing.T) {
	type gone struct{ obj any }
	missed := func(p *v1.Pod) any { return cache.DeletedFinalStateUnknown{Key: "default/p", Obj: p} }
	a1, a2, b3 := version("a", "1"), version("a", "2"), version("b", "3")
	again, bare, other := version("a", "1"), version("a", ""), version("a", "")
	type test struct {
		name, why string
		said      []any
		want      []string
	}
	testkit.Run(t, []test{
		{"life", "the usual order", []any{a1, a2, gone{a2}}, []string{"add a1", "update a1 a2", "remove a2"}},
		{"late deletion", "the object in a deletion may be newer than the last report", []any{a1, gone{a2}}, []string{"add a1", "remove a1"}},
		{"duplicate", "a version that was reported changes nothing", []any{a1, a1}, []string{"add a1"}},
		{"duplicate in another object", "what is known is what was reported", []any{a1, again}, []string{"add a1"}},
		{"no versions", "an object without a version may be another each time", []any{bare, other}, []string{"add a", "update a a"}},
		{"replaced", "an informer knows objects by name: a list after a broken watch shows the new object as an update", []any{a1, b3}, []string{"add a1", "remove a1", "add b3"}},
		{"tombstone", "the carried object may be old; the last report counts", []any{a1, a2, gone{missed(a1)}}, []string{"add a1", "update a1 a2", "remove a2"}},
		{"tombstone of the one before", "the name is gone, whatever the tombstone carries", []any{a1, b3, gone{missed(a1)}}, []string{"add a1", "remove a1", "add b3", "remove b3"}},
		{"deletion of the one before", "a deletion that comes after the replacement is late", []any{a1, b3, gone{a2}}, []string{"add a1", "remove a1", "add b3"}},
		{"unknown deletion", "an object that was never reported is not removed", []any{gone{a1}}, nil},
		{"unknown tombstone", "an object that was never reported is not removed", []any{gone{missed(a1)}}, nil},
		{"wrong types", "nothing but objects is reported", []any{"text", gone{"text"}, gone{cache.DeletedFinalStateUnknown{Key: "k"}}}, []string{"failed", "failed", "failed"}},
	}, func(t *testing.T, c test) {
		var got []string
		var last metav1.Object // that was reported, nil after its removal
		name := func(o metav1.Object) string { return fmt.Sprint(o.GetUID(), o.GetResourceVersion()) }
		o := &objects{
			known:  map[types.NamespacedName]metav1.Object{},
			add:    func(now metav1.Object) { got, last = append(got, "add "+name(now)), now },
			update: func(old, now metav1.Object) { got, last = append(got, "update "+name(old)+" "+name(now)), now },
			remove: func(old metav1.Object) { got, last = append(got, "remove "+name(old)), nil },
			failed: func(error) { got = append(got, "failed") },
		}
		for _, said := range c.said {
			if g, ok := said.(gone); ok {
				o.lose(g.obj)
			} else {
				o.see(said)
			}
			require.True(t, last == o.get(keyOf(a1)), c.why)
			require.Equal(t, last != nil, len(o.known) > 0, "what is gone takes no memory")
		}
		require.Equal(t, c.want, got, c.why)
	})
}
