package place

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// transcript holds what the program prints for command lines to a file of testdata.
func transcript(t *testing.T, file string, lines ...string) {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		code, out, errs := simulate(t, "", strings.Fields(line)...)
		fmt.Fprintf(&b, "$ place %s\n%s%sexit %d\n\n", line, out, errs, code)
	}
	testkit.Golden(t, "testdata/"+file, b.String())
}

// A cluster with pods in every state: the run, and what its flags change.
func TestBusyCluster(t *testing.T) {
	const f = "-f testdata/busy.yaml"
	transcript(t, "busy.txt",
		f, f+" -v -n data", f+" -fail-errors -no-headers -n shop", f+" -o wide -map", f+" -grace -log - -n none -no-headers", f+" -admit -n data -map -no-headers", f+" -strict", f+" -strict -admit",
		f+" -preemption optimal -n none -log -", f+" -seed 3 -n data -no-headers", f+" -percentage 0 -o wide -no-headers -n data", f+" -o json -n data -detail=plain",
	)
}

// Pods in every state explained, in a cluster whose nodes reject for different reasons.
func TestBusyExplained(t *testing.T) {
	const f = "-f testdata/busy.yaml -n shop "
	transcript(t, "busy_explained.txt",
		f+"-explain web-1", f+"-explain web-2 -where topology.kubernetes.io/zone=b", f+"-explain web-2 -where a2", f+"-explain vip", f+"-explain vip -preemption optimal", f+"-explain huge-1 -fail-unschedulable",
		f+"-explain gated", f+"-explain foreign", f+"-explain unwanted -fail-errors", f+"-explain fading", f+"-explain going", f+"-explain low-1", f+"-explain stuck", f+"-explain lost", f+"-explain done",
	)
}

// Questions about pods of another namespace, as data and as text.
func TestBusyQuestions(t *testing.T) {
	const f = "-f testdata/busy.yaml -n data "
	transcript(t, "busy_questions.txt",
		f+"-explain garbled", f+"-explain plain -o yaml", f+"-explain gpu", f+"-explain gpu -where bare", f+"-explain gpu -where zone=a", f+"-explain gpu -where zone=(", f+"-explain nobody",
		f+"-how-many plain", f+"-how-many gpu -fail-unschedulable", f+"-how-many gpu -o yaml", f+"-how-many db-0", f+"-how-many garbled", f+"-pack", f+"-pack -o yaml -fail-unschedulable",
	)
}

// Pages about the busy cluster and about one pod of it.
func TestBusyPages(t *testing.T) {
	for file, line := range map[string]string{"busy_page.txt": "-n data", "busy_page_explained.txt": "-explain shop/vip"} {
		code, out, errs := simulate(t, "", append([]string{"-f", "testdata/busy.yaml", "-o", "html"}, strings.Fields(line)...)...)
		require.Zero(t, code, errs)
		testkit.GoldenPage(t, "testdata/"+file, out)
	}
}

// Objects come, change and go in virtual time: what the API server takes, refuses or would refuse, and who is tried again.
func TestEvents(t *testing.T) {
	const f = "-f testdata/calm.yaml -timeline testdata/events.yaml "
	transcript(t, "events.txt", f+"-log - -o wide", f+"-admit -grace -no-headers -log -", f+"-strict", f+"-strict -admit", f+"-explain too-late", f+"-o json -detail=top -n fresh")
}

// Volumes are bound and provisioned, and leaving pods leave.
func TestCalmCluster(t *testing.T) {
	const f = "-f testdata/calm.yaml "
	transcript(t, "calm.txt", f+"-grace -log -", f+"-explain with-big -o json", f+"-explain with-small", f+"-how-many with-big", f+"-pack -no-headers", f+"-map -cordon n1 -add testdata/events.yaml", f+"-map -cordon n1 -taint n2:a=b:NoSchedule", f+"-o wide -no-headers -percentage 100")
}
