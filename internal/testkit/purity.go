package testkit

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

// Unchanged runs call and fails the test when call changed one of objects. The text that a quantity remembers after it was
// printed is a change too: two goroutines that read the object would race.
func Unchanged[T runtime.Object](t testing.TB, call func(), objects ...T) {
	t.Helper()
	before := make([]runtime.Object, len(objects))
	for i, o := range objects {
		before[i] = o.DeepCopyObject()
	}
	call()
	for i, o := range objects {
		if diff := cmp.Diff(before[i], runtime.Object(o)); diff != "" {
			t.Errorf("argument %d was modified (- before, + after):\n%s", i, diff)
		} else if !reflect.DeepEqual(before[i], runtime.Object(o)) {
			t.Errorf("argument %d was written to: a part has an equal value in another form, such as a quantity's text", i)
		}
	}
}
