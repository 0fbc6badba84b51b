package taint

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/taints"
)

// BenchmarkPass makes monitor passes over healthy nodes, each of which renewed its lease.
func BenchmarkPass(b *testing.B) {
	for _, size := range []int{5000, 50000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l := newLifecycle(Config{})
			for i := range size {
				l.SetNode(ready(fmt.Sprint("n", i), fmt.Sprint("z", i%3), "True"), start)
			}
			now := start
			for b.Loop() {
				now = now.Add(5 * time.Second)
				for i := range size {
					l.Renew(fmt.Sprint("n", i), now)
				}
				if c := l.Pass(now); len(c.Nodes)+len(c.Zones) > 0 {
					b.Fatalf("%v", c)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/node")
		})
	}
}

// BenchmarkForecast forecasts two hours of 500 nodes with 30 pods each. The kubelets of 20 nodes fall silent.
func BenchmarkForecast(b *testing.B) {
	in := Input{Until: 2 * time.Hour}
	for i := range 500 {
		n := ready(fmt.Sprint("n", i), fmt.Sprint("z", i%3), "True")
		in.Nodes = append(in.Nodes, n)
		for j := range 30 {
			in.Pods = append(in.Pods, admission.WithDefaultSeconds(podOn(n.Name, fmt.Sprint("p", i, "-", j), nil), admission.DefaultSeconds{}))
		}
		if i < 20 {
			in.Events = append(in.Events, Event{Node: n.Name, Heartbeats: HeartbeatsStop})
		}
	}
	for b.Loop() {
		l, err := Forecast(in)
		if err != nil || len(l.Evictions()) != 20*30 {
			b.Fatal(len(l.Evictions()), err)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	ev := taints.Compile(tolerationsOf("x:3 y:1 z:inf"), taints.Options{})
	list := taintsOf("x z")
	var d decision
	b.ReportAllocs()
	for b.Loop() {
		d = decide(timerState{}, ev, list, start, Options{})
	}
	if !d.Started || d.Cause.Key != "x" || d.Cause.Effect != v1.TaintEffectNoExecute {
		b.Fatal(d)
	}
}
