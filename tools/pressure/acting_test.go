package pressure

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
)

// The forecast is about the threshold that acts, else about the first one that is met, and the ranking about the same signal unless
// -rank names another.
func TestWhatIsForetold(t *testing.T) {
	const stats = `"memory":{"time":"2026-03-02T08:00:00Z","availableBytes":1048576,"workingSetBytes":4293918720},"fs":{"time":"2026-03-02T08:00:00Z","availableBytes":1,"capacityBytes":100,"inodesFree":1,"inodes":100}`
	const soft = "evictionHard: {nodefs.available: %s}\nevictionSoft: {memory.available: 1Gi, nodefs.inodesFree: 50%%}\nevictionSoftGracePeriod: {memory.available: 1m, nodefs.inodesFree: 1m}\nevictionMinimumReclaim: {memory.available: 5%%}\n"
	type test struct {
		name, hard, over string
		args             []string
		want             string
	}
	testkit.Run(t, []test{
		{"disk acts", "10%", "0", nil, "nodefs.available, nodefs.available, nodefs.available"},
		{"only soft ones are met", "1%", "0", nil, ", memory.available, memory.available"},
		{"a pod is over its limit", "10%", "2097152", nil, ", memory.available, memory.available"},
		{"another ranking", "1%", "0", []string{"-rank", "pid.available"}, ", memory.available, pid.available"},
		{"what acts is ranked", "10%", "0", []string{"-rank", "pid.available"}, "nodefs.available, nodefs.available, nodefs.available"},
	}, func(t *testing.T, c test) {
		r, errs, _ := answered(t, map[string]string{
			"summary.json": `{"node":{"nodeName":"n1",` + stats + `},"pods":[{"podRef":{"name":"a","namespace":"default","uid":"u"},"volume":[{"name":"scratch","usedBytes":` + c.over + `}]}]}`,
			"kubelet.yaml": config + fmt.Sprintf(soft, c.hard),
		}, c.args...)
		require.Empty(t, errs)
		require.NotNil(t, r.Forecast)
		require.Equal(t, c.want, fmt.Sprintf("%s, %s, %s", r.Acting, r.Forecast.Signal, r.RankedFor))
		for _, x := range r.Thresholds {
			if x.Signal == "memory.available" {
				require.Equal(t, "5%", x.MinimumReclaim)
				require.NotEmpty(t, x.Target)
			}
			if x.Observed == "" {
				require.Empty(t, x.Target)
			}
		}
	})
}

// Pods without a UID are told apart by their names.
func TestPodsWithoutUID(t *testing.T) {
	const pods = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: x}, spec: {nodeName: n1, containers: [{name: c}]}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: x}, spec: {nodeName: n1, containers: [{name: c}]}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: z, uid: u}, spec: {nodeName: n1, containers: [{name: c}]}}\n---\n"
	const use = `{"podRef":{"name":"%s","namespace":"%s","uid":"%s"},"memory":{"workingSetBytes":%d}}`
	at := files(t, map[string]string{"summary.json": `{"node":{"nodeName":"n1"},"pods":[` + fmt.Sprintf(use, "a", "x", "1", 1<<20) + "," + fmt.Sprintf(use, "b", "x", "2", 2<<20) + "," + fmt.Sprintf(use, "a", "z", "u", 3<<20) + `]}`})
	_, out, errs := nodepressure(pods+oneNode, "-f", "-", "-summary", at("summary.json"), "-o", "json")
	require.Empty(t, errs)
	var r nodeReport
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	var got []string
	for _, p := range r.Ranking {
		got = append(got, p.Pod+" "+p.Usage)
	}
	require.Equal(t, []string{"z/a 3Mi", "x/b 2Mi", "x/a 1Mi"}, got)
}

// Without a time anywhere the observation is made now. A time that the state has in another zone is printed in UTC.
func TestTimes(t *testing.T) {
	before := time.Now().Add(-time.Second)
	r, _, _ := answered(t, map[string]string{"summary.json": `{"node":{"nodeName":"n1"}}`})
	require.True(t, r.At.After(before) && r.At.Before(time.Now().Add(time.Second)), r.At)
	state := `{"node":"n1","at":"2026-03-02T07:59:00Z","state":{"layout":"single","conditions":["MemoryPressure"],"lastTrue":{"MemoryPressure":"2026-03-02T09:59:00+02:00"}}}`
	at := files(t, map[string]string{"summary.json": calm, "state": state})
	_, out, errs := nodepressure(onePod+oneNode, "-f", "-", "-summary", at("summary.json"), "-state", at("state"), "-o", "json", "-layout", "single")
	require.Contains(t, out, `"nextChange": "2026-03-02T08:04:00Z"`, errs)
	for _, args := range [][]string{{"-o", "json"}, {"-state", at("none")}} { // in UTC the year is 10000
		code, out, errs := nodepressure(onePod+oneNode, append([]string{"-f", "-", "-summary", at("summary.json"), "-at", "9999-12-31T23:59:59-01:00"}, args...)...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, "year")
	}
}

// Of two configurations that of -kubelet counts.
func TestTwoConfigurations(t *testing.T) {
	at := files(t, map[string]string{"kubelet.yaml": config + "evictionHard: {memory.available: 3Gi}\n"})
	objects := onePod + oneNode + "---\n{apiVersion: podberth.io/v1alpha1, kind: Kubelet, metadata: {name: n1}, summary: {node: {}}, configuration: {evictionHard: {memory.available: 2Gi}}}\n"
	_, out, _ := nodepressure(objects, "-f", "-", "-kubelet", at("kubelet.yaml"))
	require.Regexp(t, `(?m)^memory.available +3Gi `, out)
	_, out, _ = nodepressure(onePod+oneNode, "-f", "-", "-summary", in("memory.json"), "-o", "json", "-no-headers")
	require.Empty(t, out)
	_, _, errs := nodepressure(onePod+oneNode, "-f", "-", "-summary", in("memory.json"), "-state", "-")
	require.Equal(t, "pressure: -state: Invalid value: \"-\": must be a file, it is read and written\n", errs)
	low := files(t, map[string]string{"summary.json": low})
	_, out, _ = nodepressure(onePod+oneNode, "-f", "-", "-summary", low("summary.json"))
	require.True(t, strings.HasSuffix(out, "\nThat is not enough.\n"), out)
	_, _, errs = nodepressure(strings.Replace(onePod, "spec:", "mood: good\nfood: good\nspec:", 1)+oneNode, "-f", "-", "-summary", low("summary.json"), "-strict")
	require.Contains(t, errs, "mood")
	require.Contains(t, errs, "food", "all unknown fields")
}

// terminal is 60 characters wide.
type terminal struct{ strings.Builder }

func (*terminal) Width() int { return 60 }

// Tables are as wide as the terminal.
func TestTerminal(t *testing.T) {
	args := []string{"-f", in("pods.yaml"), "-summary", in("memory.json")}
	var out terminal
	require.Zero(t, Run(t.Context(), args, nil, &out, &strings.Builder{}))
	_, wide, _ := nodepressure("", args...)
	require.NotEqual(t, wide, out.String())
}
