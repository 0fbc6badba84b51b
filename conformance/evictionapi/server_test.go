// Package evictionapi_test asks podberth and a kube-apiserver, which runs in the test process on an etcd of its own, to evict
// the same pods.
package evictionapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/podberth/podberth/conformance/apiserver"
)

// server is a kube-apiserver and the database behind it.
type server struct {
	client *http.Client
	host   string
	etcd   *clientv3.Client
}

const namespace = "n"

// start runs a server until the end of the test.
func start(t *testing.T) server {
	t.Helper()
	running := apiserver.Start(t)
	client, err := rest.HTTPClientFor(running.Config)
	require.NoError(t, err)
	s := server{client, running.Config.Host, running.Etcd}
	for _, name := range []string{namespace, "m"} {
		answer, err := s.post("/api/v1/namespaces", v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, answer.code, "%s", answer.body)
	}
	return s
}

// answer is what the server says.
type answer struct {
	code       int
	retryAfter string
	body       []byte
}

func (s server) post(path string, object any) (answer, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return answer{}, err
	}
	response, err := s.client.Post(s.host+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header.Get("Retry-After"), text}, err
}

func podKey(name string) string { return apiserver.Prefix + "/pods/" + namespace + "/" + name }
func budgetKey(name string) string {
	return apiserver.Prefix + "/poddisruptionbudgets/" + namespace + "/" + name
}

// store writes objects as they are, such as the API would refuse too, and takes away those that are nil. It returns the
// resource version of all.
func (s server) store(objects map[string]any) (string, error) {
	var ops []clientv3.Op
	for key, o := range objects {
		if o == nil {
			ops = append(ops, clientv3.OpDelete(key))
			continue
		}
		data, err := json.Marshal(o)
		if err != nil {
			return "", err
		}
		ops = append(ops, clientv3.OpPut(key, string(data)))
	}
	done, err := s.etcd.Txn(context.Background()).Then(ops...).Commit()
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(done.Header.Revision, 10), nil
}

// load reads an object; nil: it is not there.
func (s server) load(key string) (runtime.Object, error) {
	found, err := s.etcd.Get(context.Background(), key)
	if err != nil || len(found.Kvs) == 0 {
		return nil, err
	}
	return runtime.Decode(scheme.Codecs.UniversalDeserializer(), found.Kvs[0].Value)
}

// last returns the last version of an object that is gone.
func (s server) last(key string) (runtime.Object, error) {
	found, err := s.etcd.Get(context.Background(), key)
	for revision := int64(0); err == nil && len(found.Kvs) == 0; {
		if revision == 0 {
			revision = found.Header.Revision
		}
		revision--
		found, err = s.etcd.Get(context.Background(), key, clientv3.WithRev(revision))
	}
	if err != nil {
		return nil, err
	}
	return runtime.Decode(scheme.Codecs.UniversalDeserializer(), found.Kvs[0].Value)
}
