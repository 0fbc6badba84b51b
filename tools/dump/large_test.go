package dump

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// largeDump, when set, is the form of the dump that TestLargeDump reads: json or yaml. The variable with _BYTES behind its
// name sets another size.
const largeDump = "PODBERTH_LARGE_DUMP"

// A dump of 1 GB needs less than 3 GB of memory. The test writes the dump itself and runs when asked for by name, each form in
// a process of its own:
//
//	PODBERTH_LARGE_DUMP=json go test ./tools/dump -run TestLargeDump -v
func TestLargeDump(t *testing.T) {
	form := os.Getenv(largeDump)
	if form == "" {
		t.Skip("set " + largeDump + " to json or yaml")
	}
	const limit = 3000 // megabytes
	size := 1 << 30
	if text := os.Getenv(largeDump + "_BYTES"); text != "" {
		var err error
		size, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	file := filepath.Join(t.TempDir(), "cluster."+form)
	pods := writeLarge(t, file, form, size)
	o, err := Read([]string{file}, nil, Options{MaxSize: 2 * int64(size)})
	require.NoError(t, err)
	require.Len(t, o.Pods, pods)
	peak := peakMegabytes(t)
	t.Logf("%s: %d pods, peak %d MB", form, pods, peak)
	require.Less(t, peak, limit)
}

// writeLarge writes a List of pods of the given size and returns their number.
func writeLarge(t *testing.T, file, form string, size int) (pods int) {
	f, err := os.Create(file)
	require.NoError(t, err)
	out := bufio.NewWriter(f)
	begin, between, end, pod := "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n", ",\n", "]}\n", largeJSON
	if form == "yaml" {
		begin, between, end, pod = "apiVersion: v1\nitems:\n", "", "kind: List\n", largeYAML
	}
	written, err := out.WriteString(begin)
	require.NoError(t, err)
	for written < size {
		if pods > 0 {
			_, err = out.WriteString(between)
			require.NoError(t, err)
		}
		n, err := out.WriteString(strings.NewReplacer("NUMBER", fmt.Sprintf("%07d", pods), "OWNER", fmt.Sprintf("%07d", pods/10)).Replace(pod))
		require.NoError(t, err)
		written, pods = written+n, pods+1
	}
	_, err = out.WriteString(end)
	require.NoError(t, err)
	require.NoError(t, out.Flush())
	require.NoError(t, f.Close())
	return pods
}

// peakMegabytes is the largest memory of the process so far.
func peakMegabytes(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("the system does not say what memory the process had")
	}
	_, rest, ok := strings.Cut(string(text), "VmHWM:")
	require.True(t, ok)
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return kilobytes / 1000
}

// A pod as an API server prints it, with managed fields. Ten pods have one owner.
const largeJSON = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-NUMBER","namespace":"shop","uid":"5c5d6f4e-8a57-4a0f-9a1d-00000NUMBER","resourceVersion":"NUMBER","creationTimestamp":"2026-03-02T08:00:00Z","generateName":"web-","labels":{"app":"web","pod-template-hash":"6495997d95"},"annotations":{"checksum/config":"0f343b0931126a20f133d67c2b018a3b"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-6495997d95","uid":"11111111-8a57-4a0f-9a1d-00000OWNER","controller":true,"blockOwnerDeletion":true}],"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-03-02T08:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"11111111-8a57-4a0f-9a1d-00000OWNER\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{".":{},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}}]},"spec":{"nodeName":"n1","priority":0,"schedulerName":"default-scheduler","restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","containers":[{"name":"web","image":"registry.example.com/shop/web:1.2.3","imagePullPolicy":"IfNotPresent","resources":{"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"memory":"256Mi"}},"env":[{"name":"MODE","value":"production"}],"volumeMounts":[{"name":"kube-api-access-NUMBER","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","readOnly":true}]}],"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"volumes":[{"name":"kube-api-access-NUMBER","projected":{"defaultMode":420,"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}}]}}]},"status":{"phase":"Running","podIP":"10.0.0.1","startTime":"2026-03-02T08:00:01Z","qosClass":"Burstable","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-03-02T08:00:09Z"},{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-03-02T08:00:00Z"}],"containerStatuses":[{"name":"web","ready":true,"restartCount":0,"image":"registry.example.com/shop/web:1.2.3","imageID":"registry.example.com/shop/web@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","state":{"running":{"startedAt":"2026-03-02T08:00:08Z"}}}]}}`

// The same as kubectl prints YAML, in short.
const largeYAML = `- apiVersion: v1
  kind: Pod
  metadata:
    annotations:
      checksum/config: 0f343b0931126a20f133d67c2b018a3b
    creationTimestamp: "2026-03-02T08:00:00Z"
    generateName: web-
    labels:
      app: web
      pod-template-hash: 6495997d95
    managedFields:
    - apiVersion: v1
      fieldsType: FieldsV1
      fieldsV1:
        f:metadata:
          f:generateName: {}
          f:labels:
            .: {}
            f:app: {}
            f:pod-template-hash: {}
        f:spec:
          f:containers:
            k:{"name":"web"}:
              .: {}
              f:image: {}
              f:imagePullPolicy: {}
              f:name: {}
              f:resources:
                .: {}
                f:requests:
                  .: {}
                  f:cpu: {}
                  f:memory: {}
          f:dnsPolicy: {}
          f:restartPolicy: {}
          f:schedulerName: {}
          f:terminationGracePeriodSeconds: {}
      manager: kube-controller-manager
      operation: Update
      time: "2026-03-02T08:00:00Z"
    name: web-NUMBER
    namespace: shop
    ownerReferences:
    - apiVersion: apps/v1
      blockOwnerDeletion: true
      controller: true
      kind: ReplicaSet
      name: web-6495997d95
      uid: 11111111-8a57-4a0f-9a1d-00000OWNER
    resourceVersion: "NUMBER"
    uid: 5c5d6f4e-8a57-4a0f-9a1d-00000NUMBER
  spec:
    containers:
    - env:
      - name: MODE
        value: production
      image: registry.example.com/shop/web:1.2.3
      imagePullPolicy: IfNotPresent
      name: web
      resources:
        limits:
          memory: 256Mi
        requests:
          cpu: 100m
          memory: 128Mi
      volumeMounts:
      - mountPath: /var/run/secrets/kubernetes.io/serviceaccount
        name: kube-api-access-NUMBER
        readOnly: true
    dnsPolicy: ClusterFirst
    nodeName: n1
    priority: 0
    restartPolicy: Always
    schedulerName: default-scheduler
    terminationGracePeriodSeconds: 30
    tolerations:
    - effect: NoExecute
      key: node.kubernetes.io/not-ready
      operator: Exists
      tolerationSeconds: 300
    - effect: NoExecute
      key: node.kubernetes.io/unreachable
      operator: Exists
      tolerationSeconds: 300
  status:
    conditions:
    - lastTransitionTime: "2026-03-02T08:00:09Z"
      status: "True"
      type: Ready
    phase: Running
    podIP: 10.0.0.1
    qosClass: Burstable
    startTime: "2026-03-02T08:00:01Z"
`
