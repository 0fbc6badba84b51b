package write

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// post creates an object at a path. It does not decode the answer. A request of the typed clients puts its path together from its parts
// seven times.
type post func(ctx context.Context, path string, body runtime.Object) error

// postBy returns a post by a client; nil if the client is that of a fake, which sends nothing.
func postBy(c rest.Interface) post {
	if real, _ := c.(*rest.RESTClient); real == nil {
		return nil
	}
	return func(ctx context.Context, path string, body runtime.Object) error {
		return c.Post().AbsPath(path).Body(body).Do(ctx).Error()
	}
}
