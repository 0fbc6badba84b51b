package feed

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/podberth/podberth/internal/testkit"
)

// FuzzObjects plays an API server whose objects come, change, go and come back under their names, and an informer that sees some of
// that: it misses changes and deletions while its watch is broken, repeats versions, and reports tombstones that carry an old version.
// Each byte is a step; see play.
func FuzzObjects(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(testkit.RandomBytes(seed, 200))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 2000 {
			t.Skip("longer input has no other steps")
		}
		play(t, testkit.NewBytes(data))
	})
}

// world is what the server has, what the informer has, and what was reported.
type world struct {
	t                          *testing.T
	b                          *testkit.Bytes
	server, informer, reported map[string]*v1.Pod
	objects                    *objects
	version, uid               int
}

// play makes steps until the bytes end: a change on the server, an event of the watch, or a new list after a broken watch. After a list
// and after the last step, what was reported is what the server has.
func play(t *testing.T, b *testkit.Bytes) {
	w := &world{t: t, b: b, server: map[string]*v1.Pod{}, informer: map[string]*v1.Pod{}, reported: map[string]*v1.Pod{}}
	w.objects = &objects{
		known: map[types.NamespacedName]metav1.Object{},
		add: func(now metav1.Object) {
			w.expect(w.reported[now.GetName()] == nil, "%s is added and was there", now.GetName())
			w.reported[now.GetName()] = now.(*v1.Pod)
		},
		update: func(old, now metav1.Object) {
			w.expect(w.reported[now.GetName()] == old, "%s: the old object of an update is the one that was reported", now.GetName())
			w.expect(old.GetUID() == now.GetUID(), "%s: an update has one UID", now.GetName())
			w.expect(old.GetResourceVersion() != now.GetResourceVersion(), "%s: a version is reported once", now.GetName())
			w.reported[now.GetName()] = now.(*v1.Pod)
		},
		remove: func(old metav1.Object) {
			w.expect(w.reported[old.GetName()] == old, "%s is removed as it was reported", old.GetName())
			delete(w.reported, old.GetName())
		},
		failed: func(err error) { t.Fatal(err) },
	}
	for b.More() {
		name := fmt.Sprintf("p%d", b.Below(4))
		switch b.Below(8) {
		case 0, 1, 2:
			w.change(name)
		case 3, 4:
			w.watch(name)
		case 5: // the informer says again what it has
			if now := w.informer[name]; now != nil {
				w.objects.see(now)
			}
		default:
			w.relist()
		}
	}
	w.relist()
}

func (w *world) expect(holds bool, format string, args ...any) {
	w.t.Helper()
	if !holds {
		w.t.Fatalf(format, args...)
	}
}

// change makes an object on the server, changes it or deletes it.
func (w *world) change(name string) {
	w.version++
	now := w.server[name]
	switch {
	case now == nil:
		w.uid++
		w.server[name] = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(fmt.Sprint("u", w.uid)), ResourceVersion: fmt.Sprint(w.version)}}
	case w.b.OneIn(3):
		delete(w.server, name)
	default:
		next := now.DeepCopy()
		next.ResourceVersion = fmt.Sprint(w.version)
		w.server[name] = next
	}
}

// watch reports the object as the server has it now. A deletion is reported before what has the name now.
func (w *world) watch(name string) {
	now, was := w.server[name], w.informer[name]
	if was != nil && (now == nil || now.UID != was.UID) {
		last := was.DeepCopy() // a deletion has a version of its own
		last.ResourceVersion += "d"
		w.objects.lose(last)
		delete(w.informer, name)
		w.expect(w.reported[name] == nil, "%s is gone", name)
	}
	if now != nil {
		w.informer[name] = now
		w.objects.see(now)
	}
}

// relist shows the informer all that the server has: what replaced another looks like an update, what is gone is a tombstone.
func (w *world) relist() {
	for k := range 4 {
		name := fmt.Sprintf("p%d", k)
		now, was := w.server[name], w.informer[name]
		switch {
		case now != nil:
			w.informer[name] = now
			w.objects.see(now)
		case was != nil:
			stale := was
			if w.b.OneIn(2) {
				stale = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "of another", ResourceVersion: "0"}}
			}
			delete(w.informer, name)
			w.objects.lose(cache.DeletedFinalStateUnknown{Key: "default/" + name, Obj: stale})
		}
		w.expect(w.reported[name] == now, "%s: the server has %v, reported is %v", name, now, w.reported[name])
	}
}
