package diagnose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// Every single change that a search considers, as far as it goes and half as far: a hash of its text and of all objects after it.
func TestEachChange(t *testing.T) {
	var out strings.Builder
	kinds := map[Kind]int{}
	for seed := range uint64(200) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+4e6, 500))
		objects, pod := wide(b)
		if b.OneIn(3) {
			wideDevices(b, &objects, pod)
		}
		limits := int32(9)
		objects.CSINodes = []*storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "n0", UID: "csi"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "d", Allocatable: &storagev1.VolumeNodeResources{Count: &limits}}}}}}
		s, err := cluster.New(objects)
		require.NoError(t, err)
		d, err := begin(Input{Snapshot: s}, pod, Options{Nodes: 1 + b.Below(4)})
		require.NoError(t, err)
		d.asItIs(&Diagnosis{})
		d.list()
		all := append(append([]*Change{}, d.changes...), d.everyone...)
		for _, p := range d.places {
			require.NotEmpty(t, p.changes)
			require.Equal(t, p.changes[0].Kind == AddNode, p.slot == -1)
			all = append(all, p.changes...)
		}
		for app, budget := range d.budgets.pdbs {
			all = append(all, raise(budget, int32(1+app)))
		}
		h := testkit.Hash32(t, seed)
		for _, c := range all {
			kinds[c.Kind]++
			values := []int64{0}
			if c.value != nil {
				values = []int64{c.value.loosest, c.value.from - (c.value.from-c.value.loosest)/2}
			}
			for _, v := range values {
				x := *c
				if x.value != nil {
					x.value = &span{from: c.value.from, loosest: c.value.loosest, v: v, show: c.value.show}
					x.To = x.value.show(v)
				}
				fork := s.Fork()
				p, err := Apply(fork, pod, x)
				require.NoError(t, err)
				fmt.Fprintln(h, x.Text(), x.Alike, DefaultCost(x), x.rule)
				writeJSON(t, h, p)
				writeAll(t, h, cluster.List[*v1.PersistentVolume](fork).All())
				writeAll(t, h, cluster.List[*v1.PersistentVolumeClaim](fork).All())
				writeAll(t, h, cluster.List[*policyv1.PodDisruptionBudget](fork).All())
				writeAll(t, h, cluster.List[*resourcev1.ResourceClaim](fork).All())
				writeAll(t, h, cluster.List[*storagev1.CSINode](fork).All())
				for _, i := range fork.Order() {
					writeJSON(t, h, fork.Node(int(i)))
					writeAll(t, h, fork.Pods(int(i)))
				}
			}
		}
		fmt.Fprintf(&out, "%d: %d changes, %08x\n", seed, len(all), h.Sum32())
	}
	for _, k := range []Kind{DropSelector, DropRequirement, Prefer, RaiseMaxSkew, LowerMinDomains, Tolerate, LowerRequest, DropPort, HonorTaints, DropGate, Untaint, Uncordon,
		Label, AddNode, RemovePods, RaiseBudget, LowerCount, DropConstraint, ReleaseClaim} {
		require.Greater(t, kinds[k], 4, k)
	}
	testkit.Golden(t, "testdata/each_change.txt", out.String())
}

func writeAll[T any](t *testing.T, h hash.Hash32, all iter.Seq[T]) {
	for x := range all {
		writeJSON(t, h, x)
	}
}

func writeJSON(t *testing.T, h hash.Hash32, object any) {
	text, err := json.Marshal(object)
	require.NoError(t, err)
	_, err = h.Write(bytes.ReplaceAll(text, []byte(`,"status":{}`), nil)) // later versions of the API write it where nothing is in it
	require.NoError(t, err)
}
