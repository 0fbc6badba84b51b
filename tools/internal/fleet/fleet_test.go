package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/consolidate"
	"github.com/podberth/podberth/tools/drain"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/failures"
	"github.com/podberth/podberth/tools/lint"
	"github.com/podberth/podberth/tools/place"
	"github.com/podberth/podberth/tools/rollout"
	"github.com/podberth/podberth/tools/taints"
	"github.com/podberth/podberth/tools/upgrade"
)

var large = flag.Bool("large", false, "clusters of 5,000 nodes")

type program struct {
	name string
	run  func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int
	args []string
}

// progress matches what programs say of work that takes long, which depends on the machine.
var progress = regexp.MustCompile(`(?m)^[a-z]+: \d+ (of \d+ )?(MiB|attempts|nodes|nodes tried|pods|scenarios)\b.*\n`)

// The answers of programs about two large clusters are those of testdata, by hash.
//
//	go test ./tools/internal/fleet -args -large   # 5,000 nodes
func TestAnswers(t *testing.T) {
	size, nodes := "small", 150
	if *large {
		size, nodes = "large", 5000
	}
	var out bytes.Buffer
	for _, o := range []Options{{Nodes: nodes, Seed: 1}, {Nodes: nodes, Seed: 2, Full: true}} {
		path := filepath.Join(t.TempDir(), "cluster.json")
		f, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, Write(f, o))
		require.NoError(t, f.Close())
		for _, p := range []program{
			{"place", place.Run, nil},
			{"drain", drain.Run, []string{"-ignore-daemonsets", "-delete-emptydir-data", "-l", "pool=memory"}},
			{"lint", lint.Run, nil},
			{"upgrade", upgrade.Run, []string{"-from", "1.35", "-to", "1.37"}},
			{"taints", taints.Run, []string{"-stop-zone", "eu-1a", "-admit"}},
			{"failures", failures.Run, []string{"-by", "pool", "-by", "topology.kubernetes.io/zone"}},
			{"consolidate", consolidate.Run, []string{"-max-moves", "20", "-time", "0s"}},
			{"rollout", rollout.Run, []string{"-ignore-daemonsets", "-delete-emptydir-data", "-l", "pool=memory"}},
		} {
			var answer, errs bytes.Buffer
			code := p.run(t.Context(), append([]string{"-f", path, "-o", "json"}, p.args...), nil, &answer, &errs)
			text := strings.ReplaceAll(answer.String()+progress.ReplaceAllString(errs.String(), ""), path, "cluster.json")
			require.Greater(t, answer.Len(), 100, "%s: %s", p.name, &errs)
			t.Logf("%s: exit code %d", p.name, code)
			fmt.Fprintf(&out, "nodes %d, full %t, %s: exit code %d, %d bytes, sha256 %x\n", o.Nodes, o.Full, p.name, code, len(text), sha256.Sum256([]byte(text)))
		}
	}
	testkit.Golden(t, "testdata/answers-"+size+".txt", out.String())
}

// The clusters have the shape that the package promises.
func TestShape(t *testing.T) {
	for _, full := range []bool{false, true} {
		var text, again bytes.Buffer
		require.NoError(t, Write(&text, Options{Nodes: 150, Seed: 1, Full: full}))
		require.NoError(t, Write(&again, Options{Nodes: 150, Seed: 1, Full: full}))
		require.Equal(t, text.Len(), again.Len())
		require.True(t, bytes.Equal(text.Bytes(), again.Bytes()), "the same bytes")
		require.Contains(t, text.String(), "managedFields")
		o, err := dump.Read([]string{"-"}, &text, dump.Options{})
		require.NoError(t, err)
		require.Empty(t, o.Warnings.Lines())
		require.Len(t, o.Nodes, 150)
		found := map[string]int{}
		for _, n := range o.Nodes {
			found["pool "+n.Labels["pool"]]++
		}
		for _, p := range o.Pods {
			if p.Spec.NodeName == "" {
				found["pending"]++
			} else {
				found["running"]++
			}
		}
		for _, p := range pools {
			require.Positive(t, found["pool "+p.name], p.name)
		}
		require.Greater(t, found["running"], 3*150)
		require.GreaterOrEqual(t, found["pending"], 10)
		require.Len(t, o.DaemonSets, 2)
		require.NotEmpty(t, o.PodDisruptionBudgets)
		require.NotEmpty(t, o.PersistentVolumes)
	}
}
