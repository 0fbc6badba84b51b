package testkit

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

// Unchanged runs call and fails the test when it changed one of objects, be it only the text that a quantity remembers once
// it was printed: that is a write, too, and two goroutines that read one object would race.
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
		} else if !reflect.DeepEqual(before[i], runtime.Object(o)) {
			t.Errorf("argument %d was written to: something that counts as equal is not the same, such as a quantity's text", i)
		}
	}
}
