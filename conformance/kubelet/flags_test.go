package kubelet_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubernetes/cmd/kubelet/app/options"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/pressure"
)

// TestFlags gives random text to the flags of the kubelet, often several values of one signal. It compares the error or the
// settings.
func TestFlags(t *testing.T) {
	trial.Run(t, 2000, 26, func(s *trial.Source) error {
		name, parse, sign := "eviction-hard", pressure.ParseThresholds, "<"
		if s.Once(2) {
			name, sign = "eviction-soft", "<"
		} else if s.Once(2) {
			name, parse, sign = trial.Pick(s, "eviction-minimum-reclaim", "eviction-soft-grace-period"), pressure.ParseSettings, "="
		}
		var parts []string
		for range 4 {
			part := trial.Pick(s, "memory.available", "nodefs.available", " memory.available ", "") + sign + trial.Pick(s, "10%", "1Gi", " 1Gi ", "", "30s", "a<b=c")
			switch {
			case s.Once(8):
				part = strings.Replace(part, sign, trial.Pick(s, "<", "=", "<=", ">", ""), 1)
			case s.Once(8):
				part = ""
			}
			parts = append(parts, part)
		}
		text := strings.Join(parts, ",")
		s.Note("--%s=%q", name, text)
		c, err := options.NewKubeletConfiguration()
		if err != nil {
			return err
		}
		flags := new(cliflag.NamedFlagSets).FlagSet("kubelet")
		options.AddKubeletConfigFlags(flags, c)
		wantErr := flags.Lookup(name).Value.Set(text)
		want := map[string]map[string]string{"eviction-hard": c.EvictionHard, "eviction-soft": c.EvictionSoft,
			"eviction-minimum-reclaim": c.EvictionMinimumReclaim, "eviction-soft-grace-period": c.EvictionSoftGracePeriod}[name]
		have, warnings, err := parse(text)
		if fmt.Sprint(wantErr) != fmt.Sprint(err) {
			return fmt.Errorf("kubelet %v\npodberth %v", wantErr, err)
		}
		if err != nil {
			s.Count("error")
			return nil
		}
		if !maps.Equal(want, have) {
			return fmt.Errorf("kubelet %q\npodberth %q", want, have)
		}
		s.Count("settings")
		if len(warnings) > 0 {
			s.Count("several values")
		}
		return nil
	}, "error", "settings", "several values")
}
