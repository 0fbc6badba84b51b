package queue

import (
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const million = 1_000_000

// crowd makes pods of ten priorities that differ in their names only.
func crowd(n int) []*v1.Pod {
	pods := make([]*v1.Pod, n)
	priorities := [10]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for i := range pods {
		p := &v1.Pod{}
		p.Name = "pod-" + strconv.Itoa(i)
		p.Namespace = "default"
		p.UID = types.UID(p.Name)
		p.Spec.Priority = &priorities[i*7%10]
		pods[i] = p
	}
	return pods
}

// asleep returns a queue with n unschedulable pods, of which the first few wait for plugin "few", the rest for "many".
func asleep(b *testing.B, pods []*v1.Pod, few int) *Queue {
	q, err := New(Options{Profiles: map[string]Profile{defaultScheduler: {Events: []Registration{
		{"few", Event{"Node", Add, ""}, func(*v1.Pod, any, any) (bool, error) { return false, nil }},
		{"many", Event{"storage.k8s.io/CSINode", Update, ""}, func(*v1.Pod, any, any) (bool, error) { return false, nil }},
		{"many", Event{"storage.k8s.io/StorageClass", Add, ""}, nil},
	}}}, ExactRegistrations: true})
	if err != nil {
		b.Fatal(err)
	}
	for i, p := range pods {
		if _, err := q.Add(p, noon); err != nil {
			b.Fatal(err)
		}
		e, _ := q.Pop(noon)
		by := "many"
		if i < few {
			by = "few"
		}
		if _, err := q.Return(e, Failure{Rejecters: []string{by}}, noon); err != nil {
			b.Fatal(err)
		}
	}
	if n := q.Counts().Unschedulable; n != len(pods) {
		b.Fatal(n, "pods sleep")
	}
	return q
}

// BenchmarkMillion measures the operations on a queue of 1,000,000 pods. "events" touch 1,000 pods, none, or all:
//
//	go test ./queue -run NONE -bench Million
func BenchmarkMillion(b *testing.B) {
	if testing.Short() {
		b.Skip("takes 3 GB")
	}
	pods := crowd(million)
	b.Run("Add and Pop of all", func(b *testing.B) {
		for b.Loop() {
			q, _ := New(Options{})
			start := time.Now()
			for i, p := range pods {
				if _, err := q.Add(p, noon.Add(time.Duration(i))); err != nil {
					b.Fatal(err)
				}
			}
			added := time.Now()
			for range pods {
				if e, _ := q.Pop(noon); e == nil {
					b.Fatal("nothing to pop")
				} else {
					q.Done(e.Pod)
				}
			}
			b.ReportMetric(float64(added.Sub(start).Nanoseconds())/million, "ns/Add")
			b.ReportMetric(float64(time.Since(added).Nanoseconds())/million, "ns/Pop+Done")
		}
	})
	q := asleep(b, pods, 1000)
	b.Run("event for 1000 of them", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if moves := q.Move(Change{Event: nodeAdd}, noon); len(moves) != 0 {
				b.Fatal("the hint says Skip")
			}
		}
	})
	b.Run("event for none", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			q.Move(Change{Event: Event{"Node", UpdateNodeCondition, ""}}, noon)
		}
	})
	b.Run("event for none by a scan of all", func(b *testing.B) { // what the queue spares: each waiting pod is asked who rejected it
		arriving := Event{"storage.k8s.io/CSINode", Add, ""}
		for b.Loop() {
			for _, e := range q.heaps[Unschedulable].items {
				for i := range e.waits {
					if q.hears(e.waits[i].plugin, arriving) {
						b.Fatal("nobody waits for it")
					}
				}
			}
		}
	})
	b.Run("event for nearly all and the hint skips", func(b *testing.B) {
		for b.Loop() {
			q.Move(Change{Event: Event{"storage.k8s.io/CSINode", Update, ""}}, noon)
		}
	})
	extra := &v1.Pod{}
	extra.Name, extra.UID = "extra", "extra"
	b.Run("Add Pop Return Delete beside them", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			q.Add(extra, noon)
			e, _ := q.Pop(noon)
			q.Return(e, Failure{Rejecters: []string{"few"}}, noon)
			if len(q.Delete(extra)) != 1 {
				b.Fatal("it slept")
			}
		}
	})
	b.Run("Next and Explain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			q.Next(noon)
			q.Explain(pods[5], noon)
		}
	})
	b.Run("event that moves nearly all", func(b *testing.B) {
		start := time.Now()
		moves := q.Move(Change{Event: Event{"storage.k8s.io/StorageClass", Add, ""}}, noon.Add(time.Minute))
		if len(moves) != million-1000 {
			b.Fatal(len(moves))
		}
		b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(len(moves)), "ns/pod")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkCycle is the common way of a pod: added, popped, bound.
func BenchmarkCycle(b *testing.B) {
	q, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	p := &v1.Pod{}
	p.Name, p.UID = "a", "a"
	b.ReportAllocs()
	for b.Loop() {
		q.Add(p, noon)
		e, _ := q.Pop(noon)
		if e == nil {
			b.Fatal("nothing to pop")
		}
		q.Done(p)
		q.Delete(p)
	}
}
