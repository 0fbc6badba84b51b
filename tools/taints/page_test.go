package taints

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
)

// What the page of a forecast shows is asserted whole.
func TestPage(t *testing.T) {
	for _, name := range []string{"events", "zone-outage"} {
		code, out, errs := forecast("", "-f", shop, "-events", "testdata/"+name+".yaml", "-admit", "-o", "html")
		require.Zero(t, code, errs)
		testkit.GoldenPage(t, "testdata/"+name+".page", out)
	}
}

// The longest forecast is allowed, and the shortest.
func TestLengths(t *testing.T) {
	require.NotNil(t, Flags().Lookup("until"))
	one := filepath.Join(t.TempDir(), "one.yaml") // every pass of the monitor looks at every node
	require.NoError(t, os.WriteFile(one, []byte("{apiVersion: v1, kind: Node, metadata: {name: general-a1}}\n"), 0o600))
	for until, code := range map[string]int{"0s": program.OK, longest.String(): program.OK, (longest + 1).String(): program.BadInput, "-1ns": program.BadInput} {
		got, _, errs := forecast("", "-f", one, "-stop", "general-a1", "-until", until)
		require.Equal(t, code, got, "%s: %s", until, errs)
	}
	require.Zero(t, timeline(t, "", "-f", one, "-stop", "general-a1", "-until", "0s").Until)
	script := func(at string) string { return "events: [{at: " + at + ", node: general-a1, heartbeats: stop}]" }
	last := longest - 600_000_000_000
	code, _, errs := forecast(script(last.String()), "-f", one, "-events", "-")
	require.Zero(t, code, errs)
	code, _, errs = forecast(script((last + 1).String()), "-f", one, "-events", "-")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, "the last one must be at least 10m before")
	code, out, errs := forecast("", "-f", "none.yaml", "-stop", "general-a1")
	require.Equal(t, program.BadInput, code)
	require.Empty(t, out)
	require.Contains(t, errs, "none.yaml")
}

// A pod's wait ends when its time moves, when the pod leaves or stays, and at the end of the forecast.
func TestSpansOfPage(t *testing.T) {
	at := func(seconds int) metav1.Duration {
		return metav1.Duration{Duration: time.Duration(seconds) * time.Second}
	}
	a := &answer{
		Until: at(60),
		Entries: []entry{
			{At: at(0), What: taint.EntryZone, Zone: "z"},
			{At: at(1), What: taint.EntryStarted, Pod: "shop/a"}, {At: at(2), What: taint.EntryStarted, Pod: "shop/b"}, {At: at(3), What: taint.EntryMoved, Pod: "shop/a"},
			{At: at(5), What: taint.EntryEvicted, Pod: "shop/a"}, {At: at(6), What: taint.EntryEvicted, Pod: "shop/a"}, {At: at(7), What: taint.EntryStarted, Pod: "shop/c"},
			{At: at(8), What: taint.EntryCancelled, Pod: "shop/c"},
		},
		Pending: []pending{{Pod: "shop/b", Until: at(90)}},
	}
	var got []string
	for _, lane := range a.page(taint.Input{}, &program.Tables{}).Timeline.Lanes {
		for _, s := range lane.Spans {
			got = append(got, fmt.Sprintf("%s%s: %v to %v %s", lane.Node, lane.Pod, s.From, s.To, s.Kind))
		}
	}
	require.ElementsMatch(t, []string{
		"zone z: 0s to 0s changes",
		"shop/a: 1s to 3s waits", "shop/a: 3s to 5s waits", "shop/a: 5s to 5s leaves", "shop/a: 6s to 6s leaves",
		"shop/b: 2s to 1m0s waits",
		"shop/c: 7s to 8s waits", "shop/c: 8s to 8s stays",
	}, got)
}
