package mcp

import (
	"strconv"
	"time"

	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
)

// latest is the time of the cluster: the latest that a pod of it was made or started.
func latest(o *dump.Objects) (last time.Time) {
	for _, p := range o.Pods {
		if p.CreationTimestamp.After(last) {
			last = p.CreationTimestamp.Time
		}
		if p.Status.StartTime != nil && p.Status.StartTime.After(last) {
			last = p.Status.StartTime.Time
		}
	}
	return last
}

// oneLine returns a text of the user or the cluster as a quoted line.
func oneLine(text string) string { return strconv.Quote(cut(report.Escape(text), mostArgument)) }
