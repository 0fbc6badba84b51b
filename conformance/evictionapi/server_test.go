// Package evictionapi_test asks podberth and a kube-apiserver, which runs in the test process on an etcd of its own, to evict
// the same pods.
package evictionapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	apitesting "k8s.io/kubernetes/cmd/kube-apiserver/app/testing"
)

func init() { klog.SetLogger(logr.Discard()) }

// server is a kube-apiserver and the database behind it.
type server struct {
	client *http.Client
	host   string
	etcd   *clientv3.Client
}

const namespace = "n"

// start runs both until the end of the test.
func start(t *testing.T) server {
	t.Helper()
	endpoint := url.URL{Scheme: "http", Host: freeAddress(t)}
	peer := url.URL{Scheme: "http", Host: freeAddress(t)}
	c := embed.NewConfig()
	c.Dir = t.TempDir()
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{endpoint}, []url.URL{endpoint}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.UnsafeNoFsync = true // nothing here outlives the test
	c.LogLevel = "fatal"
	e, err := embed.StartEtcd(c)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(time.Minute):
		t.Fatal("etcd does not start")
	}
	storage := storagebackend.NewDefaultConfig(prefix, nil)
	storage.Transport.ServerList = []string{endpoint.String()}
	flags := []string{"--watch-cache=false", "--enable-priority-and-fairness=false", "--max-requests-inflight=0", "--max-mutating-requests-inflight=0"}
	running := apitesting.StartTestServerOrDie(t, apitesting.NewDefaultTestServerOptions(), flags, storage)
	t.Cleanup(running.TearDownFn)
	client, err := rest.HTTPClientFor(running.ClientConfig)
	require.NoError(t, err)
	s := server{client, running.ClientConfig.Host, running.EtcdClient}
	for _, name := range []string{namespace, "m"} {
		answer, err := s.post("/api/v1/namespaces", v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, answer.code, "%s", answer.body)
	}
	return s
}

// freeAddress is a port of this machine that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
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

const prefix = "/registry"

func podKey(name string) string    { return prefix + "/pods/" + namespace + "/" + name }
func budgetKey(name string) string { return prefix + "/poddisruptionbudgets/" + namespace + "/" + name }

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
