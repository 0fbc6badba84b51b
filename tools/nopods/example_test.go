package nopods_test

import (
	"context"
	"os"
	"strings"

	"github.com/podberth/podberth/tools/nopods"
)

const dump = `
{apiVersion: v1, kind: ResourceQuota, metadata: {name: team, namespace: shop}, spec: {hard: {requests.cpu: 400m}}, status: {hard: {requests.cpu: 400m}, used: {requests.cpu: "0"}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, namespace: shop}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: web, resources: {requests: {cpu: 500m}}}]}}}}
`

// A quota has less than the template asks for.
func Example() {
	nopods.Run(context.Background(), []string{"-f=-", "-workload=replicaset/shop/web"}, strings.NewReader(dump), os.Stdout, &strings.Builder{})
	// Output:
	// ReplicaSet shop/web lacks 1 pod, and the API server refuses 1: pods "web-1" is forbidden: exceeded quota: team, requested: requests.cpu=500m, used: requests.cpu=0, limited: requests.cpu=400m
	// Do: ReplicaSet shop/web: spec.template.spec.containers[0].resources.requests[cpu] from 500m to 400m (quota team has 400m of requests.cpu left): then 1 of 1 missing pods come
	// Do: ResourceQuotas of shop: team: spec.hard[requests.cpu] from 400m to 500m: then 1 of 1 missing pods come
}
