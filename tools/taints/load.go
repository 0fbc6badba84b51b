package taints

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// script is the file of -events.
type script struct {
	Events []taint.Event `json:"events"`
}

// load reads cluster and events.
func load(o options, stdin io.Reader) (in taint.Input, warnings report.Warnings, err error) {
	objects, err := dump.Read(o.Files, stdin, o.Input)
	if err != nil {
		return in, warnings, err
	}
	events, err := loadEvents(o, stdin, objects.Nodes)
	if err != nil {
		return in, warnings, err
	}
	in = taint.Input{Nodes: objects.Nodes, Events: events, Until: o.until, Config: o.config, Start: o.at}
	in.Options.Matching.ComparisonOperators = o.gates.Compares()
	if o.until < 0 {
		if in.Until = lastEvent(events) + 10*time.Minute; in.Until > longest {
			return in, warnings, fmt.Errorf("%s: events: Invalid value: %q: the last one must be at least 10m before %v", o.events, lastEvent(events), longest)
		}
	}
	objects.Absent(dump.Asks{})
	_ = objects.Orphans("left out of the forecast") // the error is one of the warnings
	for _, note := range o.gates.Notes() {
		objects.Warnings.Aside("", note)
	}
	warnings = objects.Warnings
	if texts := warnings.Texts(); o.Input.Strict && len(texts) > 0 {
		return in, warnings, errors.New(texts[0])
	}
	known := map[string]bool{}
	for _, n := range objects.Nodes {
		known[n.Name] = true
	}
	for _, p := range objects.Pods {
		switch {
		case !known[p.Spec.NodeName]:
			continue
		case o.admit:
			p = admission.WithDefaultSeconds(p, admission.DefaultSeconds{})
		}
		in.Pods = append(in.Pods, p)
	}
	in.Deletions = byDevices(objects, in.Pods, o.at)
	if len(in.Events) == 0 && len(in.Deletions) == 0 {
		return in, warnings, errors.New("-stop-zone or -events: Required value: name the nodes or the zone that fail, or a file of events; no taint of a device makes a pod leave")
	}
	return in, warnings, nil
}

// loadEvents returns what happens: the events of -events, and silence from the start of the nodes of -stop and -stop-zone.
func loadEvents(o options, stdin io.Reader, nodes []*v1.Node) ([]taint.Event, error) {
	var s script
	if o.events != "" {
		unknown, err := dump.ReadFile(o.events, stdin, &s, o.Input)
		switch {
		case err != nil:
			return nil, err
		case len(unknown) > 0:
			return nil, errors.New(unknown[0])
		}
		if bad := taint.ValidateEvents(s.Events, nodes, field.NewPath("events")); len(bad) > 0 {
			return nil, fmt.Errorf("%s: %w", o.events, bad[0])
		}
	}
	stop := map[string]bool{}
	var names, zones []string
	for _, n := range nodes {
		zone := n.Labels[v1.LabelTopologyZone]
		names = append(names, n.Name)
		if zone != "" && !slices.Contains(zones, zone) {
			zones = append(zones, zone)
		}
		stop[n.Name] = slices.Contains(o.stop, n.Name) || zone != "" && slices.Contains(o.stopZones, zone)
	}
	for _, name := range o.stop {
		if err := program.CheckNode("NODE", name, names); err != nil {
			return nil, err
		}
	}
	for _, zone := range o.stopZones {
		if !slices.Contains(zones, zone) {
			return nil, fmt.Errorf("-stop-zone: Not found: %q: the zones of the input, by the label %s: %s", zone, v1.LabelTopologyZone, cmp.Or(strings.Join(zones, ", "), "none"))
		}
	}
	for _, n := range nodes {
		if stop[n.Name] {
			s.Events = append(s.Events, taint.Event{Node: n.Name, Heartbeats: taint.HeartbeatsStop})
		}
	}
	return s.Events, nil
}

func lastEvent(events []taint.Event) (last time.Duration) {
	for _, e := range events {
		last = max(last, e.At.Duration)
	}
	return last
}
