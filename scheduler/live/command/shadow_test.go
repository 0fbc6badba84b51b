package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"

	"github.com/podberth/podberth/scheduler/live/internal/apitest"
	"github.com/podberth/podberth/scheduler/live/shadow"
)

// closed is an output that nobody reads any more.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

// A shadow counts every pod that another scheduler places. It reports a pod that it would have placed on another node. The report goes
// to standard output or to the end of a file. A shadow holds no lease. When it cannot write a report, it logs an error.
func TestShadow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reports")
	require.NoError(t, os.WriteFile(file, []byte("before\n"), 0o600))
	made := filepath.Join(t.TempDir(), "made")
	var out bytes.Buffer
	read := func(name string) func() string {
		return func() string {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			return string(data)
		}
	}
	type test struct {
		name, why string
		stdout    io.Writer
		args      []string
		written   func() string
	}
	testkit.Run(t, []test{
		{"standard output", "the default", &out, nil, out.String},
		{"file", "what is in the file stays", closed{}, []string{"--shadow-output", file}, func() string {
			text, ok := strings.CutPrefix(read(file)(), "before\n")
			require.True(t, ok)
			return text
		}},
		{"new file", "others may read it", closed{}, []string{"--shadow-output", made}, func() string {
			info, err := os.Stat(made)
			require.NoError(t, err)
			require.Zero(t, info.Mode().Perm()&^0o644)
			return read(made)()
		}},
		{"closed", "the shadow goes on without its reader", closed{}, nil, nil},
	}, func(t *testing.T, c test) {
		synctest.Test(t, func(t *testing.T) {
			said := logged()
			api := &apitest.API{}
			size := v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("110")}
			pod := func(name, node string) *v1.Pod {
				return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{
					NodeName: node, SchedulerName: "other",
					Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}}},
				}}
			}
			for _, name := range []string{"n1", "n2"} {
				api.Put(t, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Status: v1.NodeStatus{Allocatable: size, Capacity: size}})
			}
			for _, name := range []string{"a", "b", "c", "d"} {
				api.Put(t, pod(name, ""))
			}
			p := bubble(t, api, c.stdout, append([]string{"--shadow"}, c.args...)...)
			_, body := p.ask("/readyz?verbose")
			require.Equal(t, "[+]sched-handler-sync ok\nreadyz check passed\n", body, "there is no lease")
			for _, bound := range []*v1.Pod{
				pod("a", "n1"), pod("b", "n2"), // both nodes are empty before the first, and equal again after the second
				pod("c", "n2"),   // of the first and the third, one is where the shadow would have it and one a tie
				pod("d", "gone"), // a node that the shadow does not know
			} {
				api.Put(t, bound)
			}
			_, body = p.ask("/metrics")
			for verdict, n := range map[shadow.Verdict]int{shadow.Same: 2, shadow.Tie: 1, shadow.Unknown: 1} {
				require.Contains(t, body, fmt.Sprintf("podberth_shadow_decisions_total{verdict=%q} %d\n", verdict, n))
			}
			require.NoError(t, p.end())
			if c.written == nil {
				require.Contains(t, said(), `"A report was not written" err="nobody reads" pod="default/d"`)
				return
			}
			require.NotContains(t, said(), "A report was not written")
			text := c.written()
			require.Equal(t, 1, strings.Count(text, "\n"), c.why)
			var r shadow.Report
			require.NoError(t, json.Unmarshal([]byte(text), &r))
			require.Equal(t, "default/d unknown gone", r.Pod+" "+string(r.Verdict)+" "+r.Node)
		})
	})
}
