package testkit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

// Unchanged runs call and fails the test when it changed one of objects.
func Unchanged[T runtime.Object](t testing.TB, call func(), objects ...T) {
	t.Helper()
	before := make([]runtime.Object, len(objects))
	for i, o := range objects {
		before[i] = o.DeepCopyObject()
	}
	call()
	for i, o := range objects {
		if diff := cmp.Diff(before[i], runtime.Object(o)); diff != "" {
			t.Errorf("argument %d was modified (-before +after):\n%s", i, diff)
		}
	}
}
