// Package operator compares what an operator of the daemon sees beside its decisions: feature gates and metrics.
package operator

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	metricsfeatures "k8s.io/component-base/metrics/features"

	"github.com/podberth/podberth/scheduler/groups"
)

// Every gate of kube-scheduler is known with its default, and the texts about bad flags are the same.
func TestKnownGates(t *testing.T) {
	real := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	require.NoError(t, logsapi.AddFeatureGates(real)) // as kube-scheduler's command does
	require.NoError(t, metricsfeatures.AddFeatureGates(real))
	data, err := os.ReadFile("../../scheduler/groups/known_gates.txt")
	require.NoError(t, err)
	var want []string
	texts := []string{"Gangs=true", "SchedulerQueueingHints=true", "GenericWorkload", "GenericWorkload=maybe", "", "GenericWorkload=true,", " GenericWorkload = true ", "=true", "AllBeta=half"}
	for name, s := range real.GetAll() {
		if name == "AllAlpha" || name == "AllBeta" {
			continue
		}
		stage := strings.ToLower(string(s.PreRelease))
		if s.PreRelease == featuregate.GA {
			stage = "ga"
		}
		line := fmt.Sprintf("%s %s %s", name, map[bool]string{true: "on", false: "off"}[s.Default], stage)
		if s.LockToDefault {
			line += " locked"
		}
		want = append(want, line)
		texts = append(texts, string(name)+"=true", string(name)+"=false")
	}
	slices.Sort(want)
	require.Equal(t, strings.Join(want, "\n")+"\n", string(data))
	for _, text := range texts {
		var ours groups.FeatureGates
		err, theirs := ours.Set(text), real.DeepCopy().Set(text)
		if theirs != nil && strings.Contains(theirs.Error(), "depends on features") { // said when all flags are read
			require.NoError(t, err)
			continue
		}
		require.Equal(t, fmt.Sprint(theirs), fmt.Sprint(err), text)
	}
}
