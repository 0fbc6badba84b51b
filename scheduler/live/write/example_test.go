package write_test

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/write"
)

// nothing is a view without objects. A feed takes its place.
type nothing struct{}

func (nothing) Pod(_, _ string) *v1.Pod               { return nil }
func (nothing) Reported(_, _, _ string) metav1.Object { return nil }
func (nothing) Changed() <-chan struct{}              { return nil }

func Example() {
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}
	c := write.New(fake.NewClientset(web), nothing{}, write.Options{})
	defer c.Close()
	fmt.Println(c.Bind(context.Background(), web, "n1"))
	err := c.Delete(context.Background(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", UID: "2"}})
	fmt.Println(errors.Is(err, scheduler.ErrGone))
	// Output:
	// <nil>
	// true
}
