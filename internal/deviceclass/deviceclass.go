// Package deviceclass knows the resource names of DeviceClasses, for packages that do not link the resource API.
package deviceclass

// Prefix begins the implicit resource name of every DeviceClass; the name of the class follows.
const Prefix = "deviceclass.resource.kubernetes.io/"
