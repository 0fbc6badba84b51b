package same_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/same"
)

// every changes each field of an object in turn, also from nil to a value, and checks that the comparison notices the
// change.
func every[T any](t *testing.T, full T, copied func() T, equal func(a, b T) bool) {
	t.Helper()
	require.True(t, equal(full, copied()), "a copy is equal")
	kind := reflect.TypeFor[T]()
	for i := range kind.NumField() {
		changed := full
		field := reflect.ValueOf(&changed).Elem().Field(i)
		field.SetZero()
		require.False(t, equal(full, changed), "%s is not compared", kind.Field(i).Name)
		require.False(t, equal(changed, full), "%s is not compared", kind.Field(i).Name)
	}
}

func TestTaint(t *testing.T) {
	noon := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	later := metav1.NewTime(noon.Add(time.Second))
	full := v1.Taint{Key: "k", Value: "v", Effect: v1.TaintEffectNoExecute, TimeAdded: &noon}
	every(t, full, func() v1.Taint { return *full.DeepCopy() }, same.Taint)
	require.False(t, same.Taint(full, v1.Taint{Key: "k", Value: "v", Effect: v1.TaintEffectNoExecute, TimeAdded: &later}))
}

func TestToleration(t *testing.T) {
	one, two := int64(1), int64(2)
	full := v1.Toleration{Key: "k", Operator: v1.TolerationOpEqual, Value: "v", Effect: v1.TaintEffectNoExecute, TolerationSeconds: &one}
	every(t, full, func() v1.Toleration { return *full.DeepCopy() }, same.Toleration)
	require.True(t, same.Toleration(v1.Toleration{}, v1.Toleration{}), "both without seconds")
	other := full
	other.TolerationSeconds = &two
	require.False(t, same.Toleration(full, other))
}
