package lead_test

import (
	"fmt"
	"time"

	"github.com/podberth/podberth/scheduler/live/lead"
)

func Example() {
	l := &lead.Lease{Namespace: "kube-system", Name: "podberth-scheduler", Identity: "host_1"}
	fmt.Println(l.Validate())
	l.Duration = 5 * time.Second
	fmt.Println(l.Validate())
	// Output:
	// <nil>
	// leader election: leaseDuration must be greater than renewDeadline
}
