package upgrade

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/examples/program"
	"github.com/podberth/podberth/examples/report"
	"github.com/podberth/podberth/internal/testkit"
)

func run(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func shipped(from, to string, more ...string) []string {
	return append([]string{"-f", "../testdata/cluster.yaml", "-from", from, "-to", to}, more...)
}

func TestShippedCluster(t *testing.T) {
	for _, pair := range [][2]string{{"1.34", "1.35"}, {"1.35", "1.36"}, {"1.36", "1.37"}, {"1.37", "1.36"}} {
		code, out, errs := run(shipped(pair[0], pair[1])...)
		require.Zero(t, code, errs)
		testkit.Golden(t, "../testdata/"+pair[0]+"-"+pair[1]+".table", out)
	}
	for form, ending := range map[string]string{"json": "json", "yaml": "out.yaml"} {
		code, out, errs := run(shipped("1.36", "1.37", "-o", form)...)
		require.Zero(t, code, errs)
		testkit.Golden(t, "../testdata/1.36-1.37."+ending, out)
	}
}

// Every pod of the shipped cluster that says in a comment which rule it shows changes by that rule.
func TestRules(t *testing.T) {
	rules := func(from, to string) map[string][]string {
		_, out, errs := run(shipped(from, to, "-o", "json")...)
		require.Empty(t, errs)
		var a upgradeReport
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		found := map[string][]string{}
		for _, p := range a.Pods {
			found[p.Pod] = ids(p.Rules)
		}
		for _, p := range a.Running {
			found[p.Pod] = ids(p.Rules)
		}
		return found
	}
	require.Equal(t, map[string][]string{"default/balance": {"L5.1"}, "default/restarts": {"L2.2"}}, rules("1.35", "1.36"))
	require.Equal(t, map[string][]string{
		"default/large": {"L6.1"}, "default/urgent": {"L6.2"}, "default/apart": {"L3.4"}, "default/stores": {"L2.4"}, "default/near": {"L3.4"}, "default/restarts": {"L6.1"},
	}, rules("1.36", "1.37"))
	require.Empty(t, rules("1.36", "1.36"))
}

func TestConfiguration(t *testing.T) {
	fields := func(from, to string) (out []string) {
		_, text, errs := run(shipped(from, to, "-o", "json", "-config", "../testdata/scheduler.yaml")...)
		require.Empty(t, errs)
		var a upgradeReport
		require.NoError(t, json.Unmarshal([]byte(text), &a))
		for _, f := range a.Fields {
			out = append(out, f.Rule.ID+" "+f.Field)
		}
		return out
	}
	require.Equal(t, []string{"L11.1 profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio"}, fields("1.35", "1.36"))
	require.Equal(t, []string{"L11.2 profiles[0].pluginConfig[1].args.shape"}, fields("1.37", "1.36"))
	require.Equal(t, []string{
		"L11.4 profiles[0].plugins.placementScore", "L11.2 profiles[0].pluginConfig[1].args.shape", "L11.3 profiles[0].pluginConfig[2].args.bindingTimeout",
	}, fields("1.37", "1.34"))
	require.Empty(t, fields("1.36", "1.37"))
}

func TestFlags(t *testing.T) {
	code, help, _ := run("-h")
	require.Zero(t, code)
	require.Contains(t, help, "upgrade -f PATH -from VERSION -to VERSION [flags]")
	for _, c := range []struct{ args, want string }{
		{"", "-f"},
		{"-f ../testdata/cluster.yaml", "-from and -to: both versions are required"},
		{"-f ../testdata/cluster.yaml -from 1.36", "-from and -to: both versions are required"},
		{"-f ../testdata/cluster.yaml -from 1.33 -to 1.36", `release "1.33": known are 1.34, 1.35, 1.36 and 1.37`},
		{"-f ../testdata/cluster.yaml -from 1.36 -to 1.37 web", `unexpected argument "web"`},
		{"-f ../testdata/cluster.yaml -from 1.36 -to 1.37 -o csv", "csv"},
		{"-f no/such/file -from 1.36 -to 1.37", "no/such/file"},
		{"-f ../testdata/cluster.yaml -from 1.36 -to 1.37 -config no/such/file", "no/such/file"},
	} {
		code, out, errs := run(strings.Fields(c.args)...)
		require.Equal(t, program.BadInput, code, c.args)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	}
	code, _, _ = run(shipped("1.36", "1.37", "-fail-changed")...)
	require.Equal(t, program.No, code)
	code, _, _ = run(shipped("1.36", "1.36", "-fail-changed")...)
	require.Zero(t, code)
	code, _, _ = run(shipped("1.36", "1.37", "-fail-changed", "-n", "vault")...)
	require.Zero(t, code, "the other pods are not shown and do not count")
}

// docs/json.md has every field.
func TestForms(t *testing.T) {
	page, err := os.ReadFile("../../../docs/json.md")
	require.NoError(t, err)
	_, out, _ := run(shipped("1.37", "1.34", "-o", "json", "-config", "../testdata/scheduler.yaml")...)
	missing, err := report.Undocumented(string(page), []byte(out))
	require.NoError(t, err)
	require.Empty(t, missing)
	_, out, _ = run(shipped("1.36", "1.37", "-o", "json")...)
	missing, err = report.Undocumented(string(page), []byte(out))
	require.NoError(t, err)
	require.Empty(t, missing)
}
