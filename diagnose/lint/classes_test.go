package lint

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// defaultClass adds a PriorityClass with globalDefault.
func (w *world) defaultClass(name string) {
	w.class(name, 10)
	w.in.PriorityClasses[len(w.in.PriorityClasses)-1].GlobalDefault = true
}

// defaultStorage adds a StorageClass that is the default.
func (w *world) defaultStorage(name string) {
	w.storage(name, storagev1.VolumeBindingWaitForFirstConsumer)
	w.in.StorageClasses[len(w.in.StorageClasses)-1].Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
}

// The manifests come into the cluster in their order. A class is refused while another one is the default, and the default may move
// when the old one is changed first.
func TestSecondDefaultPriorityClass(t *testing.T) {
	class := func(name string, value int32, isDefault bool) *schedulingv1.PriorityClass {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: isDefault}
	}
	bronze, gold := class("bronze", 1, true), class("gold", 9, true)
	objects := func(found []Finding) (out []string) {
		for _, f := range found {
			out = append(out, f.Object+" "+f.Explanation)
		}
		return out
	}
	type test struct {
		name, why          string
		cluster, manifests []*schedulingv1.PriorityClass
		want               []string
	}
	testkit.Run(t, []test{
		{"first of the file", "the smaller value does not decide who came first", nil, []*schedulingv1.PriorityClass{gold, bronze},
			[]string{"PriorityClass bronze the API server refuses it: PriorityClass gold is already marked as default. Only one default can exist"}},
		{"of the cluster", "the cluster has a default", []*schedulingv1.PriorityClass{bronze}, []*schedulingv1.PriorityClass{gold},
			[]string{"PriorityClass gold the API server refuses it: PriorityClass bronze is already marked as default. Only one default can exist"}},
		{"a dump", "the manifests are the cluster", []*schedulingv1.PriorityClass{bronze, gold}, []*schedulingv1.PriorityClass{bronze, gold},
			[]string{"PriorityClass gold the API server refuses it: PriorityClass bronze is already marked as default. Only one default can exist"}},
		{"moved", "the old default is changed first", []*schedulingv1.PriorityClass{bronze}, []*schedulingv1.PriorityClass{class("bronze", 1, false), gold}, nil},
		{"moved too late", "the old default is changed last", []*schedulingv1.PriorityClass{bronze}, []*schedulingv1.PriorityClass{gold, class("bronze", 1, false)},
			[]string{"PriorityClass gold the API server refuses it: PriorityClass bronze is already marked as default. Only one default can exist"}},
		{"applied again", "a class does not stand in its own way", []*schedulingv1.PriorityClass{bronze}, []*schedulingv1.PriorityClass{class("bronze", 1, true)}, nil},
		{"nil entry", "it is no class", nil, []*schedulingv1.PriorityClass{nil, gold}, nil},
	}, func(t *testing.T, tc test) {
		w := newWorld()
		w.in.PriorityClasses, w.objs.PriorityClasses = tc.manifests, tc.cluster
		require.Equal(t, tc.want, objects(of(t, w, "priority-default-second")), tc.why)
	})
}

// Of several default StorageClasses the newest is the class of a claim without one. A class that the cluster lacks is newer than all.
func TestSecondDefaultStorageClass(t *testing.T) {
	w := newWorld()
	w.defaultStorage("new")
	w.defaultStorage("old")
	w.in.StorageClasses[0].CreationTimestamp, w.in.StorageClasses[1].CreationTimestamp = metav1.Unix(200, 0), metav1.Unix(100, 0)
	w.objs.StorageClasses, w.in.StorageClasses = w.in.StorageClasses, nil
	require.Empty(t, of(t, w, "storage-default-second"), "no manifest is a StorageClass")

	w.defaultStorage("a")
	found := of(t, w, "storage-default-second")
	require.Len(t, found, 1)
	require.Equal(t, "StorageClass a", found[0].Object)
	require.Equal(t, "also the default: new, old; a claim without a class gets the newest, which is a", found[0].Explanation)

	w.in.StorageClasses = nil
	w.defaultStorage("old")
	require.Equal(t, "also the default: new; a claim without a class gets the newest, which is new", of(t, w, "storage-default-second")[0].Explanation, "the age is the cluster's")

	w.in.StorageClasses[0].Annotations = nil
	require.Empty(t, of(t, w, "storage-default-second"), "the manifest takes the default away")
	w.in.StorageClasses = append(w.in.StorageClasses, nil)
	require.Empty(t, of(t, w, "storage-default-second"), "a nil entry is no class")
}

// A claim without a class gets the default StorageClass of the manifests, because it is newer than that of the cluster.
func TestClaimGetsNewestDefault(t *testing.T) {
	w := newWorld()
	w.defaultStorage("slow")
	w.in.StorageClasses[0].CreationTimestamp = metav1.NewTime(time.Unix(100, 0))
	w.objs.StorageClasses, w.in.StorageClasses = w.in.StorageClasses, nil
	w.disk("")
	w.in.Claims[0].Spec.StorageClassName = nil
	require.Empty(t, of(t, w, "class-immediate"))
	w.storage("fast", storagev1.VolumeBindingImmediate)
	w.in.StorageClasses[0].Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	require.Contains(t, of(t, w, "class-immediate")[0].Explanation, "class fast")
}
