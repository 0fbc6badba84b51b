package daemon_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"k8s.io/client-go/rest"

	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/live/daemon"
)

// A daemon says at its start why it cannot run: here, because the API server serves nothing that it needs.
func Example() {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c, err := config.Load([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"))
	if err != nil {
		panic(err)
	}
	_, err = daemon.New(context.Background(), daemon.Config{REST: &rest.Config{Host: server.URL}, Configuration: c})
	fmt.Println(err)
	// Output:
	// the API server does not serve nodes in version v1: this scheduler needs Kubernetes 1.34 or later
}
