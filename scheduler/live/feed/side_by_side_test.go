package feed

import (
	"fmt"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What the feed keeps is read and written by several goroutines at once. The race detector finds a call without the lock.
func TestKeptSideBySide(t *testing.T) {
	var f Feed
	o := &objects{known: map[types.NamespacedName]metav1.Object{}}
	var wg sync.WaitGroup
	start := make(chan struct{})
	for k := range 4 {
		wg.Go(func() {
			<-start
			for n := range 50 {
				key := types.NamespacedName{Name: fmt.Sprint(n)}
				o.keep(key, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: key.Name}})
				o.get(types.NamespacedName{Name: fmt.Sprint(n + k)})
				changed := f.Changed()
				f.wake()
				<-changed
			}
		})
	}
	close(start)
	wg.Wait()
	select {
	case <-f.Changed():
		t.Error("nothing was reported since the channel was asked for")
	default:
	}
}
