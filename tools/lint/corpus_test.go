package lint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// The workloads of the corpora, each beside the cluster of its file: lint finds an error exactly where place -expand -admit leaves a pod.
// The workloads whose pods wait in the file are left out: lint judges what the file asks for, place decides about the pods that wait.
func TestAgreementOverTheCorpora(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/cases/*.yaml", "../../diagnose/testdata/advice/*.yaml"} {
		list, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, list)
		files = append(files, list...)
	}
	both := map[bool]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		others, owned, works := parted(t, string(text))
		if !strings.Contains(others, "kind: Node\n") {
			continue // nothing is known about placement
		}
		for _, w := range works {
			kind, name := w["kind"].(string), w["metadata"].(map[string]any)["name"].(string)
			one, around := written(t, w), others
			for _, o := range owned { // of the workload alone: place would make the pods of the others
				if o["metadata"].(map[string]any)["ownerReferences"].([]any)[0].(map[string]any)["name"] == name {
					around += written(t, o)
				}
			}
			_, out, errs := linting(around+one, "-f", "-", "-o", "json")
			var found lintReport
			require.NoError(t, json.Unmarshal([]byte(out), &found), "%s: %s", file, errs)
			var rules []string
			for _, f := range found.Findings {
				if f.Severity == "error" && !strings.HasPrefix(f.Rule, "rollout-") && !strings.HasPrefix(f.Rule, "budget-") && f.Rule != "node-name-claim" && strings.HasPrefix(f.Object, kind+" ") && strings.HasSuffix(f.Object, "/"+name) {
					rules = append(rules, f.Rule+": "+f.Explanation)
				}
			}
			stays, placed, answer := placing(t, around, one)
			want := stays > 0
			if kind == "Job" || kind == "CronJob" {
				want = stays > 0 && placed == 0
			}
			require.Equal(t, want, len(rules) > 0, "%s: %s %s: %d stay, %d have nodes, lint says %q\n%s", file, kind, name, stays, placed, rules, answer)
			both[want]++
		}
	}
	require.Greater(t, both[true], 20, "workloads with an error")
	require.Greater(t, both[false], 20, "workloads without")
}

var makers = regexp.MustCompile(`^(Deployment|ReplicaSet|StatefulSet|DaemonSet|Job|CronJob|ReplicationController)$`)

// parted returns the objects around the workloads of a file, without pods that wait, the workloads with an owner, and those without.
func parted(t *testing.T, text string) (around string, owned, works []map[string]any) {
	t.Helper()
	var see func(o map[string]any)
	see = func(o map[string]any) {
		kind, _ := o["kind"].(string)
		meta, _ := o["metadata"].(map[string]any)
		spec, _ := o["spec"].(map[string]any)
		switch {
		case strings.HasSuffix(kind, "List"):
			for _, item := range o["items"].([]any) {
				see(item.(map[string]any))
			}
		case makers.MatchString(kind) && meta["ownerReferences"] == nil:
			works = append(works, o)
		case makers.MatchString(kind):
			owned = append(owned, o)
		case kind == "Pod" && spec["nodeName"] == nil && spec["schedulingGates"] == nil && meta["ownerReferences"] == nil:
			works = append(works, o)
		case kind == "Pod" && spec["nodeName"] == nil:
		case o != nil:
			around += written(t, o)
		}
	}
	for _, doc := range regexp.MustCompile(`(?m)^---\s*$`).Split(text, -1) {
		var o map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(doc), &o))
		see(o)
	}
	return around, owned, works
}

func written(t *testing.T, o map[string]any) string {
	t.Helper()
	text, err := yaml.Marshal(o)
	require.NoError(t, err)
	return "---\n" + string(text)
}
