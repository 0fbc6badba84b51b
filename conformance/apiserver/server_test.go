// Package apiserver_test creates and updates generated objects, made invalid field by field, at a kube-apiserver, and compares
// what the server refuses, and in which words, with the checks of package admission.
package apiserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/podberth/podberth/conformance/apiserver"
)

// server is a kube-apiserver and a client of it.
type server struct {
	client *http.Client
	host   string
}

func start(t *testing.T, flags ...string) server {
	t.Helper()
	running := apiserver.Start(t, flags...)
	client, err := rest.HTTPClientFor(running.Config)
	require.NoError(t, err)
	s := server{client, running.Config.Host}
	s.make(t, "/api/v1/namespaces", &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	return s
}

const namespace = "n"

// make creates an object for good.
func (s server) make(t *testing.T, path string, object any) {
	t.Helper()
	status, err := s.send(http.MethodPost, path, object, false)
	require.NoError(t, err)
	require.Empty(t, status.Message)
}

// try asks whether the server accepts an object, without storing it. The Status is empty if the server accepts the object.
func (s server) try(method, path string, object any) (metav1.Status, error) {
	return s.send(method, path, object, true)
}

func (s server) send(method, path string, object any, dry bool) (status metav1.Status, err error) {
	body, err := json.Marshal(object)
	if err != nil {
		return status, err
	}
	url := s.host + path
	if dry {
		url += "?dryRun=All"
	}
	request, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return status, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return status, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode < 300 {
		return status, err
	}
	return status, json.Unmarshal(text, &status)
}

// get reads an object.
func (s server) get(path string, into any) error {
	response, err := s.client.Get(s.host + path)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	return json.NewDecoder(response.Body).Decode(into)
}
