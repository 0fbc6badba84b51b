package lint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/place"
	"github.com/podberth/podberth/tools/program"
)

// Small inputs made after what people posted, each with what lint says first and how many pods place -expand -admit leaves without a node.
func TestCases(t *testing.T) {
	type test struct {
		name, why string
		found     string // "severity rule: part of the explanation" of a finding
		not       string // a rule that finds nothing, or "error": there is none
		stays     int    // pods
	}
	seen := map[string]bool{}
	testkit.Run(t, []test{
		{"27-lint-gpu-taint", "the only node with GPUs has a taint that the pod does not tolerate", "error gpu-pool-closed: 1 node offers nvidia.com/gpu, and none takes the pod", "", 1},
		{"27b-lint-limits-only", "requests come from limits", "error request-too-large: 16 cpu", "", 1},
		{"69-hostnetwork", "containerPort is a host port", "error host-port-replicas: 3 replicas hold host port", "", 1},
		{"70-runtimeclass", "the overhead of the class counts", "error request-too-large: overhead of RuntimeClass", "", 2},
		{"71-limitrange", "the LimitRange's default counts", "error requests-do-not-add-up: ", "no-requests", 1},
		{"08-lint-nullkey", "weight 0 and an empty key", "error api-refuses: ", "", 3},
		{"09-lint-wrongplace", "an empty topologyKey", "error api-refuses: ", "", 2},
		{"37-tsc-missing", "no maxSkew", "error api-refuses: must be greater than zero", "", 1},
		{"65-mlk-noselector", "matchLabelKeys without a selector", "error api-refuses: ", "", 2},
		{"34-rwo-rollout", "the new pod may wait for the volume on another node", "warning rollout-rwo: ", "error", 0},
		{"43-rwop", "the new pod waits for the old one", "error rollout-rwop: ", "", 2},
		{"41-hpa-pdb", "the autoscaler keeps three replicas", "", "budget-never-allows", 3},
		{"54-milli-mem", "half a byte", "warning small-quantity: 512m memory are thousandths of a byte", "", 2},
		{"58-quirks", "a Job finishes with less room", "info job-turns: ", "error", 6},
		{"83-cronjob", "a CronJob is read", "error no-node-matches: no node has pool=bacth, near: batch", "", 1},
		{"84-sts-vct", "a class that does not exist, and one that is the default", "error class-missing: ", "", 2},
		{"85-pvc-default", "the claim gets the default class", "", "error", 0},
		{"63b-dra-cel-wrong-v1", "the claim is made from its template", "error unplaceable: ", "device-class-missing", 2},
		{"50-failures-az", "Honor alone leaves minDomains out of reach", "error spread-taints-policy: topology.kubernetes.io/zone [us-1c] cannot be reached and stays at 0, so that 2 of 6 replicas get a node", "", 4},
		{"81-pdb-ds", "a DaemonSet has no scale", "error budget-cannot-sync: DaemonSet default/ing has no scale", "", 0},
		{"82-lint-pdb-job", "a Job has no scale", "error budget-cannot-sync: CronJob default/cj has no scale", "", 3},
		{"87b-maxunavailable0", "more replicas do not help", "warning budget-zero: maxUnavailable 0 refuses every eviction of pods of Deployment d8/g, at any number of replicas", "budget-never-allows", 5},
		{"86-ephemeral", "the claim of the volume is made", "", "error", 0},
	}, func(t *testing.T, c test) {
		seen[c.name+".yaml"] = true
		text, err := os.ReadFile(filepath.Join("testdata/cases", c.name+".yaml"))
		require.NoError(t, err)
		_, out, errs := linting(string(text), "-f", "-", "-o", "json")
		var found lintReport
		require.NoError(t, json.Unmarshal([]byte(out), &found), errs)
		var all []string
		for _, f := range found.Findings {
			all = append(all, string(f.Severity)+" "+f.Rule+": "+f.Explanation)
			require.NotEqual(t, c.not, f.Rule, c.why)
			require.NotEqual(t, c.not, string(f.Severity), c.why)
		}
		head, part, _ := strings.Cut(c.found, ": ")
		ok := c.found == ""
		for _, f := range all {
			ok = ok || strings.HasPrefix(f, head+": ") && strings.Contains(f, part)
		}
		require.True(t, ok, "%s: %s\n%s", c.why, c.found, strings.Join(all, "\n"))
		_, out, errs = testkit.Program(place.Run, string(text), []string{"-f", "-", "-expand", "-admit", "-o", "json"})
		var a struct{ Pods []struct{ Outcome string } }
		require.NoError(t, json.Unmarshal([]byte(out), &a), errs)
		stays := 0
		for _, p := range a.Pods {
			if p.Outcome != "Scheduled" {
				stays++
			}
		}
		require.Equal(t, c.stays, stays, "%s\n%s", c.why, out)
	})
	files, err := filepath.Glob("testdata/cases/*.yaml")
	require.NoError(t, err)
	for _, f := range files {
		require.True(t, seen[filepath.Base(f)], "%s is asked nothing", f)
	}
}

// What cannot be read stops lint with one line that says what to do.
func TestCasesThatCannotBeRead(t *testing.T) {
	const old = "apiVersion: resource.k8s.io/v1alpha3\nkind: DeviceClass\nname: resource.example.com\n"
	const template = "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaimTemplate\nmetadata: {name: t}\n"
	type test struct{ name, why, text, want string }
	testkit.Run(t, []test{
		{"64, the class", "it has no metadata, and the note of the conversion is there", old, "document 1 (DeviceClass): metadata.name: Required value: every object has a name; the field name stands outside of metadata (DeviceClass is of resource.k8s.io/v1alpha3, read as resource.k8s.io/v1)"},
		{"64, the dash", "a word processor made it", template + "\u2013--\nkind: Pod\n", "has dashes that are no hyphens in line 4 of the document: three hyphens (---) part documents"},
		{"64, the template", "its requests had another form", template, `apiVersion: Unsupported value: "resource.k8s.io/v1alpha2": must be resource.k8s.io/v1; kubectl get resourceclaimtemplates.v1.resource.k8s.io prints that`},
		{"38", "the output of describe is no manifest", "Name:             web-0\nNamespace:        default\nEvents:\n  Type     Reason\n  Warning  Failed  9s: x: y\n", "is what kubectl describe prints: kubectl get with -o yaml"},
	}, func(t *testing.T, c test) {
		code, out, errs := linting(c.text, "-f", "-")
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want, c.why)
	})
}

// Objects of devices of an older version are read, with a note: case 63 says what case 63b of v1 says.
func TestCaseOfOldDevices(t *testing.T) {
	text, err := os.ReadFile("testdata/cases/63b-dra-cel-wrong-v1.yaml")
	require.NoError(t, err)
	_, now, _ := linting(string(text), "-f", "-")
	text, err = os.ReadFile("testdata/63-dra-cel-wrong.yaml")
	require.NoError(t, err)
	_, old, errs := linting(string(text), "-f", "-")
	require.Equal(t, now, old)
	require.Contains(t, errs, "4 objects of resource.k8s.io/v1beta1 are read as those of resource.k8s.io/v1")
}
