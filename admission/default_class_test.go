package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// A claim without a class gets the newest default class, by name among equals; no other claim changes.
func TestDefaultClass(t *testing.T) {
	class := func(name, annotation, value string, age time.Duration) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotation: value}, CreationTimestamp: metav1.NewTime(testkit.Epoch.Add(-age))}}
	}
	old, fresh, twin := class("old", annotationDefaultClass, "true", time.Hour), class("fresh", annotationBetaDefaultClass, "true", time.Minute), class("earlier", annotationDefaultClass, "true", time.Minute)
	no := class("no", annotationDefaultClass, "false", 0)
	text := func(s string) *string { return &s }
	type test struct {
		name, why string
		claim     v1.PersistentVolumeClaim
		classes   []*storagev1.StorageClass
		want      *string
	}
	none := v1.PersistentVolumeClaim{}
	testkit.Run(t, []test{
		{"one", "it is the default", none, []*storagev1.StorageClass{no, old, nil}, text("old")},
		{"newest", "of several", none, []*storagev1.StorageClass{old, fresh}, text("fresh")},
		{"name", "of equal age", none, []*storagev1.StorageClass{fresh, twin, old}, text("earlier")},
		{"no default", "stays without", none, []*storagev1.StorageClass{no}, nil},
		{"empty class", "means no class at all", v1.PersistentVolumeClaim{Spec: v1.PersistentVolumeClaimSpec{StorageClassName: text("")}}, []*storagev1.StorageClass{old}, text("")},
		{"bound", "has its volume", v1.PersistentVolumeClaim{Spec: v1.PersistentVolumeClaimSpec{VolumeName: "pv"}}, []*storagev1.StorageClass{old}, nil},
		{"old annotation", "names a class", v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1.BetaStorageClassAnnotation: "x"}}}, []*storagev1.StorageClass{old}, nil},
	}, func(t *testing.T, c test) {
		before := c.claim.DeepCopy()
		given := []*v1.PersistentVolumeClaim{&c.claim, nil}
		got := WithDefaultClasses(given, c.classes)
		require.Equal(t, c.want, got[0].Spec.StorageClassName, c.why)
		require.Nil(t, got[1])
		require.Equal(t, before, &c.claim, "the input stays as it is")
		require.Same(t, &c.claim, given[0], "and so does the list")
	})
}
