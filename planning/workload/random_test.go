package workload

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// All that controllers make of random workloads: names, a hash of the objects, and what waits or has ended.
func TestRandom(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(80) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+3e6, 200))
		o := random(b)
		for _, j := range o.Jobs {
			if j.Spec.ManualSelector = nil; b.OneIn(3) {
				manual := b.OneIn(2)
				j.Spec.ManualSelector = &manual
			}
			if b.OneIn(2) {
				j.UID = "uid-j"
			}
			if b.OneIn(2) && j.Spec.CompletionMode != nil {
				j.Status.CompletedIndexes = testkit.Pick(b, "0", "1-2", "0,2", "0-1,3")
			}
		}
		for _, d := range o.DaemonSets {
			for _, p := range o.Pods {
				if b.OneIn(2) && len(p.OwnerReferences) > 0 && p.OwnerReferences[0].Name == d.Name {
					p.Labels[appsv1.ControllerRevisionHashLabelKey] = "rev1"
				}
			}
		}
		made, err := Make(o, Options{Limit: 1000})
		require.NoError(t, err)
		h := testkit.Hash32(t, seed)
		text, err := json.Marshal(made)
		require.NoError(t, err)
		_, err = h.Write([]byte(testkit.HideHashes(string(text))))
		require.NoError(t, err)
		fmt.Fprintf(&out, "%d: %08x", seed, h.Sum32())
		for _, p := range made.Pods {
			fmt.Fprint(&out, " ", testkit.HideHashes(p.Name))
		}
		fmt.Fprintf(&out, "; finished %d, claims %d, sets %d\n", len(made.Finished), len(made.Claims), len(made.ReplicaSets))
	}
	testkit.Golden(t, "testdata/random.txt", out.String())
}

// The indexes of a Job's status are numbers and runs of numbers, the smaller first.
func TestParseIndexes(t *testing.T) {
	list, err := parseIndexes("1,3-5,7-7")
	require.NoError(t, err)
	require.Equal(t, []span{{1, 1}, {3, 5}, {7, 7}}, list)
	list, err = parseIndexes("")
	require.NoError(t, err)
	require.Empty(t, list)
	for _, bad := range []string{"x", "1-x", "x-1", "-1", "3-1", "1,,2", "1-"} {
		_, err := parseIndexes(bad)
		require.EqualError(t, err, "must be indexes such as 1,3-5,7", bad)
	}
}

// Pods of a Job have the labels of the Job unless the Job selects manually.
func TestJobLabels(t *testing.T) {
	for name, manual := range map[string]*bool{"default": nil, "false": ptr(false), "true": ptr(true)} {
		j := job("once", ptr(int32(1)), nil)
		j.UID, j.Spec.ManualSelector = "u1", manual
		made, err := Make(Objects{Jobs: []*batchv1.Job{j}}, Options{Limit: 10})
		require.NoError(t, err)
		want := map[string]string{"app": "once"}
		if name != "true" {
			want = map[string]string{"app": "once", "batch.kubernetes.io/job-name": "once", "job-name": "once", "batch.kubernetes.io/controller-uid": "u1", "controller-uid": "u1"}
		}
		require.Equal(t, want, made.Pods[0].Labels, name)
	}
}
