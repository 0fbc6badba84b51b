package kubelet_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/kubernetes/pkg/kubelet/eviction"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/pressure"
)

// TestThresholds parses random settings, most of them wrong. It compares the error, or every threshold with its grace period and
// minimum reclaim. Each map has one entry, because the kubelet reports the first error in a random order.
func TestThresholds(t *testing.T) {
	trial.Run(t, 5000, 24, func(s *trial.Source) error {
		c := pressure.Config{}
		signals := []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "allocatableMemory.available", "pid.available", "memory.used", "", "imagefs.inodesFree"}
		numbers := []string{"1Gi", "10%", "5%%", "0%", "100%", "0.0%", "100.0%", "101%", "-1%", "abc", "abc%", "", "%", "500m", "1e3", "0", "-1", "1.5Gi", "Inf%", " 10%", "1_0%", "0x1p-2%", "9e30", "0.07%", "33.3%", "12345678901234567890"}
		graces := []string{"30s", "0s", "-5s", "5", "1m30s", "", "x", "1h", "-0s"}
		one := func(values []string) map[string]string {
			if s.Once(3) {
				return nil
			}
			return map[string]string{trial.Pick(s, signals...): trial.Pick(s, values...)}
		}
		c.EvictionHard, c.EvictionSoft, c.EvictionMinimumReclaim, c.EvictionSoftGracePeriod = one(numbers), one(numbers), one(numbers), one(graces)
		if s.Once(2) {
			c.EnforceNodeAllocatable = []string{trial.Pick(s, "pods", "system-reserved")}
		}
		s.Note("%+v", c)
		want, wantErr := eviction.ParseThresholdConfig(c.EnforceNodeAllocatable, c.EvictionHard, c.EvictionSoft, c.EvictionSoftGracePeriod, c.EvictionMinimumReclaim)
		p, err := pressure.Compile(c, pressure.Options{Release: trial.Linked})
		if (wantErr == nil) != (err == nil) || err != nil && wantErr.Error() != err.Error() {
			return fmt.Errorf("real %v\npodberth %v", wantErr, err)
		}
		if err != nil {
			s.Count("error " + strings.Fields(err.Error())[0])
			return nil
		}
		real, mine := map[string]int{}, map[string]int{}
		for _, x := range want {
			value, reclaim := fmt.Sprint(x.Value.Percentage), ""
			if x.Value.Quantity != nil {
				value = x.Value.Quantity.String()
			}
			if m := x.MinReclaim; m != nil && m.Quantity != nil {
				reclaim = m.Quantity.String()
			} else if m != nil {
				reclaim = fmt.Sprint(m.Percentage)
			}
			real[fmt.Sprintln(x.Signal, value, x.GracePeriod, reclaim)]++
		}
		for _, x := range p.Thresholds("") {
			value, reclaim := fmt.Sprint(x.Value.Share), ""
			if !x.Value.Percent {
				value = x.Value.Quantity.String()
			}
			switch q := x.MinReclaim.Quantity; {
			case x.MinReclaim.Percent:
				reclaim = fmt.Sprint(x.MinReclaim.Share)
			case !q.IsZero():
				reclaim = q.String()
			}
			mine[fmt.Sprintln(x.Signal, value, x.Grace, reclaim)]++
			s.Count("threshold")
		}
		for k := range real { // a minimum reclaim of 0 is no minimum reclaim
			if strings.HasSuffix(k, " 0\n") {
				real[strings.TrimSuffix(k, "0\n")+"\n"] += real[k]
				delete(real, k)
			}
		}
		if fmt.Sprint(real) != fmt.Sprint(mine) {
			return fmt.Errorf("real\n%v\npodberth\n%v", real, mine)
		}
		return nil
	}, "threshold", "error eviction", "error unsupported", "error quantities", "error grace", "error invalid", "error negative", "error strconv.ParseFloat:", "error time:")
}
