package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// The registrations of the default plugins, each with the releases that have it and whether it has a hint without the caller's.
func TestEventsOfReleases(t *testing.T) {
	var order []string
	in := map[string][]string{}
	for _, v := range release.Versions() {
		for _, r := range DefaultEvents(nil, v) {
			line := fmt.Sprint(r.Plugin, " ", r.Event, " ", r.Hint != nil)
			if !slices.Contains(order, line) {
				order = append(order, line)
			}
			in[line] = append(in[line], v.String())
		}
	}
	slices.Sort(order)
	var out strings.Builder
	for _, line := range order {
		fmt.Fprintln(&out, line, strings.Join(in[line], " "))
	}
	testkit.Golden(t, "testdata/events.txt", out.String())
}
