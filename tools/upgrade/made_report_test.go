package upgrade

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/report"
)

// The default profiles of every two versions differ as testdata/profiles.txt says.
func TestProfilesOfEveryTwoVersions(t *testing.T) {
	var out strings.Builder
	versions := release.Versions()
	for _, from := range versions {
		for _, to := range versions {
			for _, c := range pluginChanges(from, to) {
				fmt.Fprintf(&out, "%v -> %v: %s %s: %s -> %s (%s)\n", from, to, c.Plugin, c.Change, c.From, c.To, c.Rule.ID)
			}
		}
	}
	testkit.Golden(t, "testdata/profiles.txt", out.String())
	require.Equal(t, []string{"absent", "place 1", "place 2"}, []string{presence(-1), presence(0), presence(1)})
}

// The table has a section for each part that has something, and the rules of all sections once, in their order.
func TestMadeReport(t *testing.T) {
	o := options{from: version{release.V1_34}, to: version{release.V1_37}}
	rules := func(ids ...string) (out []rule) {
		for _, id := range ids {
			out = append(out, ruleOf(id))
		}
		return out
	}
	empty := upgradeReport{Head: report.HeadOf("UpgradeReport"), From: "1.34", To: "1.37", Differences: differences(o)}
	pods, pod, running, fields, plugins := empty, empty, empty, empty, empty
	pods.Pods = []podChange{
		{Pod: "a/x", From: verdict{Outcome: "Scheduled", Node: "n1"}, To: verdict{Outcome: "Unschedulable", Message: "no room"}, Rules: rules("L6.1", "L3.4")},
		{Pod: "a/y", From: verdict{Outcome: "Scheduled", Node: "n1"}, To: verdict{Outcome: "Scheduled", Node: "n2"}, Rules: rules("L3.4")},
	}
	pod.Pods = pods.Pods[:1]
	running.Running = []readmission{{Pod: "a/r", Node: "n1", Reasons: []string{"one", "two"}, Rules: rules("L2.2")}}
	fields.Fields = []fieldChange{{Field: "profiles[0].x", Why: "unknown field", Rule: ruleOf("L11.1")}}
	plugins.Plugins = []pluginChange{{Plugin: "A", Change: "order", From: "place 1", To: "place 2", Rule: ruleOf("L2.1")}}
	every := pods
	every.Running, every.Fields, every.Plugins = running.Running, fields.Fields, plugins.Plugins
	every.Summary = summary{Pending: 1, Running: 2}
	var out strings.Builder
	for _, a := range []upgradeReport{empty, pods, pod, running, fields, plugins, every} {
		a.sum()
		a.table(&out, options{})
		out.WriteString("\n====\n")
	}
	testkit.Golden(t, "testdata/made-report.txt", out.String())
}
