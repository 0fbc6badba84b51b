package lint

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
)

const (
	node  = "\n---\n{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}}"
	owner = "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u}]"
)

func podText(name, more string) string {
	return "\n---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", " + strings.Replace(more, "|", "}, ", 1) + "}"
}

// What is linted: pods that nobody owns and that do not run, and in a file without nodes all of those; ReplicaSets without an owner.
func TestWhatIsLinted(t *testing.T) {
	pods := podText("waits", "|spec: {}") + podText("runs", "|spec: {nodeName: n1}") + podText("owned", owner+"|spec: {}") + podText("done", "|status: {phase: Succeeded}, spec: {}") + podText("failed", "|status: {phase: Failed}, spec: {nodeName: n1}")
	sets := "\n---\n{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: own}}\n---\n{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: made, " + owner + "}}"
	for text, want := range map[string]string{pods + sets: "waits runs", node + pods + sets: "waits"} {
		in, warnings, err := load(options{Common: program.Common{Files: []string{"-"}}}, strings.NewReader(text))
		require.NoError(t, err)
		require.Empty(t, warnings.Texts())
		var names []string
		for _, p := range in.Pods {
			names = append(names, p.Name)
		}
		require.Equal(t, want, strings.Join(names, " "))
		require.Len(t, in.ReplicaSets, 1)
		require.Equal(t, "own", in.ReplicaSets[0].Name)
		require.Equal(t, strings.Contains(text, "kind: Node"), in.Cluster != nil)
	}
	in, _, err := load(options{Common: program.Common{Files: []string{"-"}}}, strings.NewReader("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {minAvailable: -1}}"))
	require.NoError(t, err)
	require.Empty(t, in.Budgets)
	require.Equal(t, "spec.minAvailable", in.Refused["PodDisruptionBudget default/b"][0].Field)
	_, warnings, err := load(options{Common: program.Common{Files: []string{"testdata/manifests.yaml"}, Input: dump.Options{}}, cluster: []string{"-"}}, strings.NewReader(node+"\n---\n{apiVersion: v1, kind: Secret, metadata: {name: a}}"))
	require.NoError(t, err)
	require.Equal(t, []string{"1 object(s) of kind Secret left aside: the kind is not read"}, warnings.Texts())
}

// The list of rules is asserted whole. Formats are checked, and what cannot be written is an error.
func TestRulesAndForms(t *testing.T) {
	code, out, _ := linting("", "-rules")
	require.Zero(t, code)
	testkit.Golden(t, "testdata/rules.table", out)
	_, short, _ := linting("", "-rules", "-no-headers")
	require.NotContains(t, short, "SEVERITY")
	require.Equal(t, strings.Count(out, "\n")-1, strings.Count(short, "\n"))
	code, _, errs := linting("", "-f", "x", "-o", "csv")
	require.Equal(t, program.BadInput, code)
	require.Equal(t, "lint: -o: Unsupported value: \"csv\": supported values: table, json, yaml, sarif\n", errs)
	for _, args := range [][]string{{"-rules"}, shipped} {
		var errs strings.Builder
		require.Equal(t, program.BadInput, Run(t.Context(), args, nil, broken{}, &errs))
		require.Contains(t, errs.String(), "the pipe is broken")
	}
	code, out, errs = linting(node+podText("a", "|spec: {priority: x}"), "-f", "-")
	require.Equal(t, program.BadInput, code)
	require.Empty(t, out)
	require.Contains(t, errs, "spec.priority")
}

// -n shows the findings of one namespace.
func TestFindingsOfANamespace(t *testing.T) {
	answer := func(args ...string) (a lintReport) {
		_, out, errs := linting("", append(append(args, shipped...), "-o", "json")...)
		require.NoError(t, json.Unmarshal([]byte(out), &a), errs)
		return a
	}
	of := func(object string) string {
		_, name, _ := strings.Cut(object, " ")
		namespace, _, _ := strings.Cut(name, "/")
		return namespace
	}
	all := answer().Findings
	namespace, want := of(all[0].Object), 0
	for _, f := range all {
		if of(f.Object) == namespace {
			want++
		}
	}
	require.Len(t, answer("-n", namespace).Findings, want)
	code, out, errs := linting("", append(shipped, "-no-headers", "-o", "json")...)
	require.Equal(t, program.BadInput, code)
	require.Empty(t, out)
	require.Equal(t, "lint: -no-headers: Invalid value: true: goes with tables\n", errs)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the pipe is broken") }
