package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// What people read first about 22 cases from public trackers, and what the programs said before they knew causes. A first screen has at most ten
// lines of 80 columns; of the commands about many objects the first ten lines count.
func TestFirstScreensOfPublicCases(t *testing.T) {
	const (
		advice  = "../../../diagnose/testdata/advice/"
		drains  = "../../../tools/drain/testdata/cases/"
		lints   = "../../../tools/lint/testdata/cases/"
		screens = "testdata/screens/"
	)
	var b strings.Builder
	for k, c := range []struct{ before, ask, file string }{
		{"tolerate nvidia.com/gpu=present; label gpu-a1 disktype=ssd", "why data/postgres-3", shipped},
		{"tolerate node.kubernetes.io/disk-pressure", "why", advice + "53-broken-nodes.yaml"},
		{"tolerate node.kubernetes.io/unreachable", "why", advice + "74-node-that-goes-away.yaml"},
		{"tolerate node.cloudprovider.kubernetes.io/uninitialized", "why", advice + "36-starting-nodes.yaml"},
		{"uncordon n3", "why", advice + "cordoned-domain-of-a-deployment.yaml"},
		{"fix: nodeTaintsPolicy: Honor", "lint", lints + "50-failures-az.yaml"},
		{"make nodeAffinity a preference", "why", advice + "68-daemonset-on-a-full-node.yaml"},
		{"bind to a volume that every node reaches", "why", advice + "44-driver-capacity.yaml"},
		{"bind to a volume", "why", advice + "45-missing-class.yaml"},
		{"pod has unbound immediate PersistentVolumeClaims", "why", advice + "72-static-volumes.yaml"},
		{"node(s) didn't match PersistentVolume's node affinity", "why", advice + "18-volume-of-a-renamed-node.yaml"},
		{"remove the pod", "why", advice + "43-one-pod-claim.yaml"},
		{"label cp control-plane=", "why", advice + "56-true-is-not-empty.yaml"},
		{"wait until more pods are ready", "drain n1", drains + "21-crashloop-pdb.yaml"},
		{"add a replica", "lint", lints + "87b-maxunavailable0.yaml"},
		{"0 of 2 nodes can be emptied", "consolidate", screens + "32-desched-anti.yaml"},
		{"9 scenarios, 0 leave pods pending", "failures --expand", lints + "50-failures-az.yaml"},
		{"kubelet would not admit it: OutOfcpu; requests.cpu from 100 to 600m", "why inf", screens + "28-resize.yaml"},
		{"runs on w1", "why app-1", screens + "19-nodename-wffc.yaml"},
		{"db-0 stays Terminating", "taints n1", screens + "88-oos.yaml"},
		{"--delete-emptydir-data deletes the pod", "drain n1", drains + "87-drain-ds.yaml"},
		{"an empty table", "pressure big", screens + "06-summary.json"},
	} {
		if c.ask == "why" { // the question stands in the file
			text, err := os.ReadFile(c.file)
			require.NoError(t, err)
			_, rest, _ := strings.Cut(string(text), "# ask: ")
			ask, _, _ := strings.Cut(rest, "\n")
			c.ask = "why " + strings.ReplaceAll(ask, " -expand", " --expand")
		}
		args := append(strings.Fields(c.ask), "--width", "80")
		if c.ask == "pressure big" {
			args = append(args, "--kubelet", screens+"06-kubelet.yaml", "--summary", c.file, "-f", screens+"06-pods.yaml")
		} else {
			args = append(args, "-A", "-f", c.file)
		}
		if strings.HasPrefix(c.ask, "why ") {
			args = strings.Fields(strings.Replace(strings.Join(args, " "), " -A", "", 1))
		}
		_, out, errs := podberth(t, "", args...)
		require.NotEmpty(t, out, "%s: %s", c.ask, errs)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if strings.HasPrefix(c.ask, "why ") && c.file != screens+"28-resize.yaml" { // of a running pod there is more to say
			require.LessOrEqual(t, len(lines), 10, out)
		}
		lines = lines[:min(10, len(lines))]
		for _, line := range lines {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 80, "%s: %s", c.ask, line)
		}
		require.NotContains(t, strings.Join(lines, "\n"), "Do: "+c.before)
		fmt.Fprintf(&b, "%d. %s of %s\nbefore: %s\n\n%s\n\n", k+1, c.ask, filepath.Base(c.file), c.before, strings.Join(lines, "\n"))
	}
	testkit.Golden(t, "testdata/first_screens.txt", b.String())
}
