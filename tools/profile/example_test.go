package profile_test

import (
	"fmt"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/profile"
)

// Without a file the default profile decides.
func ExampleOf() {
	p, warnings, err := profile.Of("", placement.PluginArgs{}, dump.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.SchedulerName, p.Filter("NodeResourcesFit") != nil, *p.Sampling.Percentage, len(warnings))
	// Output:
	// default-scheduler true 100 0
}
