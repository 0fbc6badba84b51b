// Package apiserver runs a kube-apiserver in the test process, on an etcd of its own.
//
//	s := apiserver.Start(t)
//	client := kubernetes.NewForConfigOrDie(s.Config)
//
// The server runs until the end of the test. It starts in about three seconds. It has no controllers: whoever needs
// controllers or a scheduler starts them with Config. Pods need no service account, and requests are not limited in number.
package apiserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	apitesting "k8s.io/kubernetes/cmd/kube-apiserver/app/testing"
)

// Prefix is where the server keeps its objects in etcd.
const Prefix = "/registry"

func init() { klog.SetLogger(logr.Discard()) }

// Server is a kube-apiserver that runs.
type Server struct {
	Config *rest.Config     // of a client that may do everything
	Etcd   *clientv3.Client // of the server's database

	flags   []string
	storage *storagebackend.Config
	stop    func()
}

// Start runs a server until the end of the test. flags are added to those of the server, which has no watch cache unless they
// ask for one.
func Start(t testing.TB, flags ...string) *Server {
	t.Helper()
	endpoint := url.URL{Scheme: "http", Host: FreeAddress(t)}
	peer := url.URL{Scheme: "http", Host: FreeAddress(t)}
	c := embed.NewConfig()
	c.Dir = t.TempDir()
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{endpoint}, []url.URL{endpoint}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.UnsafeNoFsync = true // nothing here outlives the test
	c.LogLevel = "fatal"
	e, err := embed.StartEtcd(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(time.Minute):
		t.Fatal("etcd does not start")
	}
	s := &Server{storage: storagebackend.NewDefaultConfig(Prefix, nil)}
	s.storage.Transport.ServerList = []string{endpoint.String()}
	s.flags = append([]string{"--watch-cache=false", "--enable-priority-and-fairness=false", "--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0", "--disable-admission-plugins=ServiceAccount"}, flags...)
	s.run(t)
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *Server) run(t testing.TB) {
	t.Helper()
	options := apitesting.NewDefaultTestServerOptions()
	options.DisableInvariantChecks = true // the server's two checks of some invalid objects differ, which it counts
	running := apitesting.StartTestServerOrDie(t, options, s.flags, s.storage)
	s.Config, s.Etcd, s.stop = running.ClientConfig, running.EtcdClient, running.TearDownFn
}

// Stop stops the server. Its database goes on.
func (s *Server) Stop() {
	s.stop()
	s.stop = func() {}
}

// Again starts a stopped server over its database. It has another Config: another address and other certificates.
func (s *Server) Again(t testing.TB) {
	t.Helper()
	s.run(t)
}

// FreeAddress returns an address of this machine on which nobody listens. Its port is outside the range from which the
// kernel picks free ports: another process could get one of those before the caller listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(20_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		return l.Addr().String()
	}
}
