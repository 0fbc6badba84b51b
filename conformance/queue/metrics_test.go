package queue_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/podberth/podberth/queue"
)

// meter has the values of the real queue's metrics by name and labels. The metrics belong to the process, so tests compare
// differences of two readings.
type meter map[string]float64

func readMeter() (meter, error) {
	families, err := metrics.GetGather().Gather()
	if err != nil {
		return nil, err
	}
	m := meter{}
	for _, f := range families {
		switch f.GetName() {
		case "scheduler_pending_pods", "scheduler_queue_incoming_pods_total", "scheduler_unschedulable_pods":
		default:
			continue
		}
		for _, one := range f.GetMetric() {
			var labels []string
			for _, l := range one.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			slices.Sort(labels)
			m[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = one.GetCounter().GetValue() + one.GetGauge().GetValue()
		}
	}
	return m, nil
}

// lastMeter is the reading at the end of the last case, because gathering takes long. It is nil before the first case and
// after a case that failed.
var lastMeter meter

func (w *world) readMeter() error {
	w.before, lastMeter = lastMeter, nil
	if w.before != nil {
		return nil
	}
	var err error
	w.before, err = readMeter()
	return err
}

// since subtracts an earlier reading and leaves out the values that did not change.
func (m meter) since(before meter) meter {
	out := meter{}
	for k, v := range m {
		if d := v - before[k]; d != 0 {
			out[k] = d
		}
	}
	return out
}

// queueOf returns the label of a place.
var queueOf = map[queue.Place]string{queue.Active: "active", queue.Backoff: "backoff", queue.ErrorBackoff: "backoff",
	queue.Unschedulable: "unschedulable", queue.Gated: "unschedulable"}

// meter counts moves as the metrics count them.
func (w *world) meter(list []queue.Move) {
	for k, m := range list {
		replaces := k > 0 && list[k-1].Reason == "Replaced" && (list[k-1].From == queue.Gated || list[k-1].From == queue.Unschedulable)
		if m.Reason == "Replaced" && m.From == queue.Gated {
			w.drift("scheduler_pending_pods{queue=gated}", 1)
			w.drift("scheduler_pending_pods{queue=unschedulable}", -1)
		}
		if left := m.From == queue.Active || m.From == queue.Backoff || m.From == queue.ErrorBackoff; m.To == queue.Nowhere && (left || m.Reason == "Replaced") {
			for _, plugin := range w.rejected[m.Pod.Name] {
				w.drift("scheduler_unschedulable_pods{plugin="+plugin+",profile="+m.Pod.Spec.SchedulerName+"}", 1)
			}
		}
		to, ok := queueOf[m.To]
		switch {
		case !ok:
		case m.To == queue.Gated && (m.From == queue.Unschedulable || m.From == queue.Gated): // see meterRefusals
		case m.To == queue.Gated && replaces: // the real queue counts a pod that stays unschedulable or gated once
		default:
			label := m.Reason
			if real, ok := w.labels[label]; ok {
				label = real
			}
			w.comes(label, to, 1)
		}
	}
}

// driftByGates notes that the real queue counts a pod that it ignores under the gate that refuses the pod. Of two such gates it asks
// any first.
func (w *world) driftByGates(p *v1.Pod) {
	var refuse []string
	for _, name := range []string{"A", "B"} {
		if w.shut[name+p.Name] && p.Spec.SchedulerName != "nobody's" {
			refuse = append(refuse, name)
		}
	}
	if len(p.Spec.SchedulingGates) > 0 {
		refuse = append(refuse, "SchedulingGates")
	}
	w.leaked = w.leaked || len(refuse) > 1
	if len(refuse) == 1 {
		w.drift("scheduler_unschedulable_pods{plugin="+refuse[0]+",profile="+p.Spec.SchedulerName+"}", 1)
	}
}

// remember notes which plugins have rejected the pods that are queued.
func (w *world) remember() {
	w.rejected = map[string][]string{}
	for _, p := range w.slots {
		if e, ok := w.q.Lookup(p); ok {
			w.rejected[p.Name] = once(slices.Concat(e.Rejecters, e.PendingPlugins))
		}
	}
}

// drift notes by how much a gauge of the real queue is wrong from now on.
func (w *world) drift(gauge string, by float64) {
	if gaugesDrift {
		w.wrong[gauge] += by
	}
}

// meterRefusals counts the pods that gates refused upon an event. The real queue also counts a pod that the same gate refuses
// again, which is no move in podberth. It does not count a pod that gates refused upon an activation or an update.
func (w *world) meterRefusals(event string) {
	w.comes(event, "unschedulable", w.refusals)
	w.refusals = 0
}

// comes counts pods that come into a queue because of an event.
func (w *world) comes(event, queue string, pods int) {
	w.metered[fmt.Sprintf("scheduler_queue_incoming_pods_total{event=%s,queue=%s}", event, queue)] += float64(pods)
}

// counted returns a gate that counts the pods that it refuses.
func (w *world) counted(g queue.Gate) queue.Gate {
	check := g.Check
	g.Check = func(pod *v1.Pod) queue.GateVerdict {
		v := check(pod)
		if v.Refuse || v.Err != nil {
			w.refusals++
		}
		return v
	}
	return g
}

// compareMeters compares the changes of the real queue's metrics since readMeter with the moves that podberth's queue returned.
func (w *world) compareMeters() error {
	w.Count("metrics compared")
	after, err := readMeter()
	if err != nil {
		return err
	}
	got := maps.Clone(w.metered)
	n := w.q.Counts()
	for name, v := range map[string]int{"active": n.Active, "backoff": n.Backoff, "unschedulable": n.Unschedulable, "gated": n.Gated} {
		if v > 0 {
			got["scheduler_pending_pods{queue="+name+"}"] = float64(v)
		}
	}
	for k, v := range w.wrong {
		if !w.leaked || !strings.HasPrefix(k, "scheduler_unschedulable_pods") {
			got[k] += v
		}
	}
	if !w.leaked {
		w.Count("gauges of rejecters compared")
	}
	names := append(slices.Clone(w.rejecters), "A", "B", "SchedulingGates")
	for _, profile := range once(w.profiles) {
		for _, plugin := range once(names) {
			if v := w.q.Rejected(profile, plugin); v > 0 && !w.leaked {
				got["scheduler_unschedulable_pods{plugin="+plugin+",profile="+profile+"}"] += float64(v)
			}
		}
	}
	real := after.since(w.before)
	for k := range real {
		if strings.HasPrefix(k, "scheduler_unschedulable_pods") && w.leaked {
			delete(real, k)
		}
	}
	var wrong []string
	for _, k := range slices.Sorted(maps.Keys(real)) {
		if real[k] != got[k] {
			wrong = append(wrong, fmt.Sprintf("%s: real %v, podberth %v", k, real[k], got[k]))
		}
		delete(got, k)
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if got[k] == 0 {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s: real 0, podberth %v", k, got[k]))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	lastMeter = after
	return nil
}

// once returns the names in order, each once.
func once(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
